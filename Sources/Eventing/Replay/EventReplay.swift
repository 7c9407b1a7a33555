/// Which past payloads a new handler receives.
///
/// A new handler receives the past payloads once, on its own delivery, before every occurrence that
/// is sent after it was added. It misses no payload in between, and receives none twice. The past
/// payloads have the sequence numbers of their occurrences. The first call uses up a once handler.
/// A lock skips or holds past payloads. No ``SendReport`` counts them. A payload that an
/// interceptor or a failure has stopped is not among them.
public struct EventReplay<Payload: Sendable>: Sendable {
  enum Kind: Sendable { case none, last(Int), current(Payload) }
  let kind: Kind

  /// No payloads.
  public static var none: EventReplay { EventReplay(kind: .none) }

  /// The last `count` payloads, or as many as were sent. A count below 0 counts as 0.
  public static func last(_ count: Int) -> EventReplay { EventReplay(kind: .last(max(0, count))) }

  /// The last payload, or `value` before the first send.
  public static func current(_ value: Payload) -> EventReplay { EventReplay(kind: .current(value)) }
}

extension Event {
  /// The payload that was sent last, even if it is still queued, or was stopped.
  ///
  /// Before the first send it is the value of ``EventReplay/current(_:)``, or else `nil`. An event
  /// without replay has `nil`. Callable from any thread and inside any handler.
  ///
  /// - Complexity: O(1).
  public nonisolated var latest: Payload? {
    guard let history = core.pendingWorkReference.load()?.history else { return nil }
    guard let latest = core.mutex.withLock({ history.copyOfLatest() }) else { return nil }
    return latest.borrowed.payload(Payload.self)
  }
}
