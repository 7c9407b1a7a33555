import Eventing

/// A payload that names its sender and its number among the sender's payloads.
struct StressPayload: Sendable {
  let senderLog: Int32
  let index: Int32
  let canary: Canary
  /// The key that the payload is sent to. Nil in events without keys.
  var key: Int32?
}

/// The record of a sender: a worker, or a handler that posts. The sends are in the order in which
/// the sender made them.
// Safe: one sender at a time uses it; if handlers post, the event runs their calls one at a time.
// The verifiers read when all senders have ended.
final class SenderLog: @unchecked Sendable {
  let number: Int
  /// The span of each send.
  private(set) var sent: [Span] = []
  /// The key of each send.
  private(set) var keys: [Int32?] = []
  private(set) var reports: [(index: Int, report: SendReport)] = []
  /// The number of the worker's removals that did not find exactly the handlers or forwards to
  /// remove.
  var missing = 0
  private var tickets: [(index: Int, ticket: SendTicket)] = []

  init(_ number: Int) { self.number = number }

  /// Returns the next payload. The span of its send begins now.
  func next(to key: Int32? = nil) -> StressPayload {
    sent.append(.open)
    keys.append(key)
    return StressPayload(senderLog: Int32(number), index: Int32(sent.count - 1), canary: Canary(.payload), key: key)
  }

  /// Ends the span of a payload's send. This span need not be the last one in `sent`, because the
  /// sender may have made later payloads meanwhile.
  @discardableResult func returned(_ payload: StressPayload) -> Span {
    sent[Int(payload.index)].finish()
    return sent[Int(payload.index)]
  }

  func keep(_ report: SendReport, of payload: StressPayload) { reports.append((Int(payload.index), report)) }
  func keep(_ ticket: SendTicket, of payload: StressPayload) { tickets.append((Int(payload.index), ticket)) }

  /// Awaits the reports of all tickets.
  func awaitReports() async {
    for (index, ticket) in tickets { reports.append((index, await ticket.report)) }
    tickets = []
  }
}
