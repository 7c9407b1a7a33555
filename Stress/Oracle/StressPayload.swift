import Eventing

/// What is sent: who sent it, and the how many-th of that sender it is.
struct StressPayload: Sendable {
  let senderLog: Int32
  let index: Int32
  let canary: Canary
  /// The key that it is sent to; nil for none, and where there are no keys.
  var key: Int32?
}

/// One sender: a worker, or a handler that posts. Its sends are in the order in which it made them.
// Safe: touched by one sender at a time, in whose sends the library itself keeps the order; read after all have ended.
final class SenderLog: @unchecked Sendable {
  let number: Int
  /// When each send began and returned.
  private(set) var sent: [Span] = []
  /// The key that each was sent to.
  private(set) var keys: [Int32?] = []
  private(set) var reports: [(index: Int, report: SendReport)] = []
  /// Handlers of this worker that were not found where they had to be.
  var missing = 0
  private var tickets: [(index: Int, ticket: Ticket)] = []

  init(_ number: Int) { self.number = number }

  /// The next payload; its send begins now.
  func next(to key: Int32? = nil) -> StressPayload {
    sent.append(.open)
    keys.append(key)
    return StressPayload(senderLog: Int32(number), index: Int32(sent.count - 1), canary: Canary(.payload), key: key)
  }

  /// The send of the latest payload, or that of an earlier one, has returned.
  @discardableResult func returned(_ payload: StressPayload) -> Span {
    sent[Int(payload.index)].finish()
    return sent[Int(payload.index)]
  }

  func keep(_ report: SendReport, of payload: StressPayload) { reports.append((Int(payload.index), report)) }
  func keep(_ ticket: Ticket, of payload: StressPayload) { tickets.append((Int(payload.index), ticket)) }

  /// Awaits what is still out.
  func settle() async {
    for (index, ticket) in tickets { reports.append((index, await ticket.report)) }
    tickets = []
  }
}
