/// Stands for an occurrence that was submitted; its report can be awaited, now or later, once or by many.
///
/// A ticket that is dropped changes nothing, and none keeps its event alive.
public struct Ticket: Sendable {
  let completion: Completion

  @usableFromInline init(completion: Completion) { self.completion = completion }

  /// Waits until every handler that the occurrence reached has finished, and says what became of it.
  ///
  /// Cancelling the task that waits changes nothing: the handlers run all the same, and so does the wait.
  /// Inside a handler, what waits for that very handler is not waited for; the report counts it as deferred.
  public var report: SendReport {
    get async { await completion.wait() }
  }
}

extension Ticket: CustomStringConvertible {
  /// In one line.
  public var description: String { "ticket" }
}
