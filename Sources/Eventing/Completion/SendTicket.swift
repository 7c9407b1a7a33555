/// A ticket for a submitted occurrence. Its report can be awaited now or later, by one task or by
/// several.
///
///     let ticket = jobs.submit(job)
///     return await ticket.acceptance.isComplete ? .accepted : .serviceUnavailable
///
/// Dropping a ticket changes nothing. A ticket does not keep its event alive.
public struct SendTicket: Sendable {
  let completion: Completion

  init(completion: Completion) { self.completion = completion }

  /// The number of handlers that have taken the occurrence, and that of handlers without room.
  /// Waits until the event has delivered the occurrence, and not for the calls on lanes.
  ///
  /// An idle event has delivered it before ``Event/submit(_:from:)`` returns. A busy one delivers
  /// it in its turn, after what was sent before. A handler waits for nothing here that waits for
  /// that handler.
  ///
  /// The counts are those of the moment when this returns. A handler that was removed meanwhile is
  /// in none of them, and an occurrence that a newer one has replaced counts as dropped.
  ///
  /// - Complexity: O(handlers whose calls have not ended).
  public var acceptance: Acceptance {
    get async { await completion.waitForDelivery() }
  }

  /// The report of the occurrence. Waits until every handler that the occurrence reached has
  /// finished, on every lane and in every event that it was forwarded to.
  ///
  /// Each read waits on its own. Cancelling the waiting task has no effect: the handlers run, and
  /// the wait continues.
  ///
  /// Inside a handler, this doesn't wait for work that is itself waiting for that handler; the
  /// report counts such work as deferred. Reads by other tasks do wait for it.
  public var report: SendReport {
    get async { await completion.wait() }
  }
}

extension SendTicket {
  /// The number of handlers that have taken an occurrence, and that of handlers that have not.
  ///
  /// Skipped handlers are in none of the counts: they were locked, or a view or an interceptor kept
  /// the occurrence from them. Nor are interceptors. A forward counts as one handler that has taken
  /// the occurrence; the handlers of its target do not count. A sequence counts like a
  /// handler.
  public struct Acceptance: Hashable, Sendable {
    /// The number of handlers that took the occurrence: inline handlers that were called, and other
    /// handlers and sequences that had room.
    ///
    /// An occurrence that waits for a pace or a batch counts as accepted. A newer one may still
    /// replace an accepted occurrence.
    public let accepted: Int
    /// The number of handlers that had no room: see ``Buffering``.
    public let dropped: Int
    /// The number of handlers for which a lock holds the occurrence.
    public let held: Int

    /// Whether some handler has taken the occurrence, or will when its lock ends, and each that it
    /// reached had room. False after ``HandlerRegistry/finish()``, if all handlers are locked, and
    /// if an interceptor stopped the occurrence.
    public var isComplete: Bool { accepted + held > 0 && dropped == 0 }
  }
}

extension SendTicket.Acceptance: CustomStringConvertible {
  /// The counts.
  public var description: String { "\(accepted) accepted, \(dropped) dropped, \(held) held" }
}

extension SendTicket: CustomStringConvertible {
  public var description: String { "ticket" }
}
