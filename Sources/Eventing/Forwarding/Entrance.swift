/// While a call of a pipeline keeps the entrance closed, the next call does not begin. It opens
/// when the payload has its place in the order of the target, or when the call ends.
final class Entrance: Sendable {
  static let ofCall = TaskLocal<Entrance?>(wrappedValue: nil)
  static let limit = 64

  private let member: HandlerQueue
  private let number: UInt64

  init(_ member: HandlerQueue, of number: UInt64) {
    self.member = member
    self.number = number
  }

  /// Lets the next call begin. Has no effect after the first time, and after the end of the call.
  func open() { member.openEntrance(of: number) }
}
