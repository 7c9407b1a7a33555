/// While a call of a pipeline keeps the entrance closed, the next call does not begin. It opens
/// when the payload has its place in the order of the target, or when the call ends.
final class Entrance: Sendable {
  static let ofCall = TaskLocal<Entrance?>(wrappedValue: nil)
  static let limit = 64

  private let queue: HandlerQueue
  private let number: UInt64

  init(_ queue: HandlerQueue, of number: UInt64) {
    self.queue = queue
    self.number = number
  }

  /// Lets the next call begin. Has no effect after the first time, and after the end of the call.
  func open() { queue.openEntrance(of: number) }
}
