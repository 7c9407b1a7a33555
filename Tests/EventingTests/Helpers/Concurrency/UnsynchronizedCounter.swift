/// A counter without synchronization.
///
/// Only the library's guarantees keep two uses from overlapping. If a guarantee fails, the thread
/// sanitizer reports a race.
final class UnsynchronizedCounter: @unchecked Sendable {
  var value = 0
}

/// Measures the depth of a stack: the bytes between the deepest and the shallowest call of
/// `look()`. Only one thread at a time may use the probe.
final class StackProbe: @unchecked Sendable {
  private var lowest = UInt.max
  private var highest = UInt.min
  private(set) var looks = 0

  var depth: UInt { looks == 0 ? 0 : highest - lowest }

  func look() {
    var here = 0
    let address = unsafe withUnsafePointer(to: &here) { UInt(bitPattern: $0) }
    lowest = min(lowest, address)
    highest = max(highest, address)
    looks += 1
  }
}

/// An object without state, for tests that need only its identity.
final class Plain: Sendable {
  init() {}
}
