import Eventing

/// The receiver of what the core tells while an inspection is on: events for the
/// ``EventRegistry``, and waits.
final class InspectionInstrument: Instrument {
  static let shared = InspectionInstrument()

  private struct Entry {
    let wait: WatchedWait
    /// When the wait began, on the ``InspectionClock``.
    let since: UInt64
    /// The call that waits.
    let invocation: Invocation?
  }

  private let entries = Guarded<[UInt64: Entry]>([:])

  /// The waits that have not ended, without those whose event is not known.
  var waits: [PolledWait] {
    let entries = entries.withLock { $0.values.map { $0 } }
    return entries.compactMap { PolledWait($0.wait, by: $0.invocation, since: $0.since) }
      .sorted { $0.id < $1.id }
  }

  func joined(_ anchor: EventAnchor, hasHandler: Bool) {
    EventRegistry.join(anchor, anchor.name, hasHandler: hasHandler)
  }

  func began(_ wait: WatchedWait) {
    let entry = Entry(wait: wait, since: InspectionClock.now, invocation: Invocation.current)
    entries.withLock { $0[wait.number] = entry }
  }

  func ended(_ wait: WatchedWait) {
    let gone = entries.withLock { $0.removeValue(forKey: wait.number) }
    if let gone { DeferredWaits.note(wait, by: gone.invocation) }
  }
}
