/// A ticket for a submitted occurrence. Its report can be awaited now or later, by one task or by
/// several.
///
/// Dropping a ticket changes nothing. A ticket does not keep its event alive.
public struct SendTicket: Sendable {
  let completion: Completion

  init(completion: Completion) { self.completion = completion }

  /// The report of the occurrence. Waits until every handler that the occurrence reached has
  /// finished, on every lane and in every event that it was forwarded to.
  ///
  /// Each access waits by itself. Cancelling the waiting task changes nothing: the handlers run,
  /// and the wait goes on.
  ///
  /// Inside a handler, this access does not wait for work that waits for that handler, and its
  /// report counts such work as deferred. Accesses by other tasks wait for such work, too.
  public var report: SendReport {
    get async { await completion.wait() }
  }
}

extension SendTicket: CustomStringConvertible {
  public var description: String { "ticket" }
}
