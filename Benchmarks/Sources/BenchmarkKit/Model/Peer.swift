/// A library, or one way to use it: a row of the tables.
package struct Peer: Sendable {
  /// The purpose of a row.
  package enum Kind: String, Codable, Sendable {
    /// Code that does less than any library must do. Its time is a lower bound for libraries.
    case limit
    /// The library that this package measures.
    case subject
    /// Another library, or code that a developer would write instead of using one.
    case peer
  }

  /// The name on the command line.
  package var id: String
  package var label: String
  package var kind: Kind
  /// One line on how the peer works.
  package var mechanism: String
  /// Whether several threads may send, add and remove at the same time.
  package var isThreadSafe = true
  /// Whether a send may return before its handlers have run.
  ///
  /// The harness then waits for delivery, within the measured time.
  package var returnsEarly = false
  /// The maximum number of sends per sender in a round of the workload `mixed`; nil for no maximum.
  ///
  /// Without a maximum, an unbounded queue grows for as long as the round lasts. If there is a
  /// maximum, the workloads `sending`, `contention` and `scale` make fewer sends in a repeat, too.
  package var sendCap: Int?
  /// Whether the peer sends from the main actor.
  ///
  /// Its repeats are made longer, because each begins with a switch to the main actor.
  package var sendsOnMainActor = false
  /// The reason why the peer cannot take part on this machine, if there is one.
  package var missing: String?
  /// The workloads that the peer takes part in; nil for all.
  package var workloads: Set<Workload>?
  /// The ways in which the peer delivers payloads to a handler that does not run on the sending
  /// thread, for the workloads that measure such handlers.
  package var routes: [Route] = []
  /// The kinds of events other than the plain one.
  package var kinds: [EventKind] = []
  /// Creates a number of events without handlers. They live as long as the result.
  package var idleEvents: (@Sendable (Int) async -> Any)?
  /// The factories for the workload `scale`.
  package var manyOf: ManyOf?
  /// Creates one live event.
  package var makeRig: (@Sendable () async -> Rig)?

  package init(
    _ id: String, _ label: String, _ kind: Kind, mechanism: String, makeRig: (@Sendable () async -> Rig)? = nil
  ) {
    self.id = id
    self.label = label
    self.kind = kind
    self.mechanism = mechanism
    self.makeRig = makeRig
  }

  /// Returns a copy with some properties changed.
  package func with(_ change: (inout Peer) -> Void) -> Peer {
    var copy = self
    change(&copy)
    return copy
  }
}
