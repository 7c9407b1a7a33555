/// A counter that nothing guards: only what the library promises keeps its users apart, and the thread sanitizer sees if they are not.
final class UnsynchronizedCounter: @unchecked Sendable {
  var value = 0
}

/// How far apart the deepest and the shallowest place of the stack are where it looked. For one thread.
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

/// An object that is nothing but itself.
final class Plain: Sendable {
  init() {}
}
