/// The entrance of a pipeline, which one call of a forward keeps closed.
///
/// While the entrance is closed, the next call of the forward does not begin. It opens when the
/// payload of the call has its place in the order of the target, or when the call ends.
final class Entrance: Sendable {
  /// The entrance that the current call keeps closed; `nil` outside pipelines.
  static let ofCall = TaskLocal<Entrance?>(wrappedValue: nil)
  /// The largest number of calls of one pipeline that run at the same time.
  static let limit = 64

  private let member: HandlerQueue
  /// The number of the call.
  private let number: UInt64

  init(_ member: HandlerQueue, of number: UInt64) {
    self.member = member
    self.number = number
  }

  /// Lets the next call begin. Has no effect after the first time, and after the end of the call.
  func open() { member.openEntrance(of: number) }
}
