/// A library, or one way to use it, that stands in the tables.
package struct Peer: Sendable {
  /// What a row is there for.
  package enum Kind: String, Codable, Sendable {
    /// A floor: does less than any library must.
    case limit
    /// The library that this package is about.
    case subject
    case peer
  }

  /// What is typed to choose it.
  package var id: String
  package var label: String
  package var kind: Kind
  /// How it works, in a line.
  package var mechanism: String
  /// Sends and changes may come from several threads at once.
  package var isThreadSafe = true
  /// A send may return before its handlers have run: the harness waits for delivery, within the timing.
  package var isDeferred = false
  /// The sends that one sender may make in a round of a contended workload. Without it, a queue that is not bounded grows for as long
  /// as the round lasts. Nil: for the whole round.
  package var sendCap: Int?
  /// It sends from the main actor: rounds are longer, since each begins with a switch to it.
  package var sendsOnMainActor = false
  /// Why it cannot take part on this machine.
  package var missing: String?
  /// Nil: all.
  package var workloads: Set<Workload>?
  /// For the workloads whose handler runs elsewhere.
  package var routes: [Route] = []
  /// Other kinds of events than the plain one.
  package var kinds: [EventKind] = []
  /// Makes that many events without handlers; they live as long as the result.
  package var idleEvents: (@Sendable (Int) async -> Any)?
  /// For the workload that asks how far it goes.
  package var manyOf: ManyOf?
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

  /// A copy with some properties changed.
  package func with(_ change: (inout Peer) -> Void) -> Peer {
    var copy = self
    change(&copy)
    return copy
  }
}
