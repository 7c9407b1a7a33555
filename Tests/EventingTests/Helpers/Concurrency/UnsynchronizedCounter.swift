/// If a guarantee of the library fails, two uses overlap, and the thread sanitizer reports a race.
final class UnsynchronizedCounter: @unchecked Sendable {
  var value = 0
}

/// The bytes between the deepest and the shallowest call of `look()`. For one thread at a time.
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

/// Has nothing but an identity.
final class Plain: Sendable {
  init() {}
}
