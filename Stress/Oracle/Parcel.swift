import Eventing

/// What is sent: who sent it, and the how many-th of that sender it is.
struct Parcel: Sendable {
  let voice: Int32
  let index: Int32
  let canary: Canary
}

/// One sender: a worker, or a handler that posts. Its sends are in the order in which it made them.
// Safe: touched by one sender at a time, in whose sends the library itself keeps the order; read after all have ended.
final class Voice: @unchecked Sendable {
  let number: Int
  /// When each send began and returned.
  private(set) var sent: [Span] = []
  private(set) var reports: [(index: Int, report: SendReport)] = []
  /// Handlers of this worker that were not found where they had to be.
  var missing = 0
  private var tickets: [(index: Int, ticket: Ticket)] = []

  init(_ number: Int) { self.number = number }

  /// The next parcel; its send begins now.
  func next() -> Parcel {
    sent.append(.open)
    return Parcel(voice: Int32(number), index: Int32(sent.count - 1), canary: Canary(.payload))
  }

  /// The send of the latest parcel, or that of an earlier one, has returned.
  @discardableResult func returned(_ parcel: Parcel) -> Span {
    sent[Int(parcel.index)].finish()
    return sent[Int(parcel.index)]
  }

  func keep(_ report: SendReport, of parcel: Parcel) { reports.append((Int(parcel.index), report)) }
  func keep(_ ticket: Ticket, of parcel: Parcel) { tickets.append((Int(parcel.index), ticket)) }

  /// Awaits what is still out.
  func settle() async {
    for (index, ticket) in tickets { reports.append((index, await ticket.report)) }
    tickets = []
  }
}
