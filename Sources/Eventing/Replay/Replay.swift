/// What a newcomer to an event is told of what was sent before it came.
///
/// It is told once, on its own delivery, before anything that is sent afterwards: nothing is missed in between, and nothing comes twice. The sequence numbers are those
/// of the occurrences. It uses up a once handler, a lock skips it, and no report counts it.
public struct Replay<Payload: Sendable>: Sendable {
  enum Kind: Sendable { case none, last(Int), current(Payload) }
  let kind: Kind

  /// Nothing. This is the default.
  public static var none: Replay { Replay(kind: .none) }

  /// The last `count` payloads, or as many as there were; a count below 0 counts as 0.
  public static func last(_ count: Int) -> Replay { Replay(kind: .last(max(0, count))) }

  /// The last payload; until something is sent, `value`.
  public static func current(_ value: Payload) -> Replay { Replay(kind: .current(value)) }
}

extension Event {
  /// An event that tells newcomers what was sent before: handlers, sequences and forwards alike.
  ///
  ///     let volume = Event("volume", replaying: .current(0.5))
  ///     volume.addHandler { volume in show(volume) }   // 0.5, at once if the event is idle
  ///
  /// Each of its sends costs a short lock more than one of an event that keeps nothing, and adding a handler costs O(what is replayed).
  public init(_ name: String? = nil, replaying replay: Replay<Payload>, onFailure policy: FailurePolicy = .collect) {
    self.init(name, onFailure: policy)
    if let history = History(replay) { core.keep(history) }
  }

  /// The last payload that was sent, one that is still queued included; before the first, what ``Replay/current(_:)`` began with. `nil` for an event without replay.
  public nonisolated var latest: Payload? {
    guard let history = core.pendingWorkReference.load()?.history else { return nil }
    guard let latest = core.mutex.withLock({ history.copyOfLatest() }) else { return nil }
    return latest.loan.payload(Payload.self)
  }
}
