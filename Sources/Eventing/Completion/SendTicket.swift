/// A ticket for a submitted occurrence. Its report can be awaited now or later, by one task or
/// several.
///
///     let ticket = jobs.submit(job)
///     return await ticket.acceptance.isComplete ? .accepted : .serviceUnavailable
///
/// Dropping a ticket has no effect. A ticket doesn't keep its event alive.
public struct SendTicket: Sendable {
  let completion: Completion

  init(completion: Completion) { self.completion = completion }

  /// How many handlers have accepted the occurrence, and how many had no room for it. Waits until
  /// the event has delivered the occurrence, but not for calls on lanes.
  ///
  /// An idle event delivers it before ``Event/submit(_:from:)`` returns. A busy event delivers it
  /// in turn, after earlier occurrences. Inside a handler, this never waits for work that is
  /// waiting for that handler.
  ///
  /// The counts are taken when this returns. Handlers removed by then are in none of them, and an
  /// occurrence replaced by a newer one counts as dropped.
  ///
  /// - Complexity: O(handlers whose calls have not ended).
  public var acceptance: Acceptance {
    get async { await completion.waitForDelivery() }
  }

  /// The report of the occurrence. Waits until every handler that the occurrence reached has
  /// finished, on every lane and in every event that it was forwarded to.
  ///
  /// Each read waits separately. Cancelling the waiting task has no effect: the handlers run, and
  /// the wait continues.
  ///
  /// Inside a handler, this doesn't wait for work that is itself waiting for that handler; the
  /// report counts such work as deferred. Reads by other tasks do wait for it.
  public var report: SendReport {
    get async { await completion.wait() }
  }
}

extension SendTicket {
  /// How many handlers have accepted an occurrence, and how many have not.
  ///
  /// Handlers that were locked, or from which a view or an interceptor withheld the occurrence, are
  /// in none of the counts, and neither are interceptors. A forward counts as one handler that has
  /// accepted the occurrence; the handlers of its target don't count. A sequence counts like a
  /// handler.
  public struct Acceptance: Hashable, Sendable {
    /// The number of handlers that accepted the occurrence: inline handlers that were called, and
    /// other handlers and sequences that had room.
    ///
    /// An occurrence that waits for a pace or a batch counts as accepted. A newer occurrence may
    /// still replace an accepted one.
    public let accepted: Int
    /// The number of handlers that had no room; see ``Buffering``.
    public let dropped: Int
    /// The number of handlers for which a lock holds the occurrence.
    public let held: Int

    /// Whether at least one handler has accepted the occurrence, or will when its lock ends, and
    /// every handler that it reached had room. False after ``HandlerRegistry/finish()``, if all
    /// handlers are locked, or if an interceptor stopped the occurrence.
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
