import Eventing

/// Passes events to the ``EventRegistry``, and keeps the waits, while an inspection is on.
final class InspectionInstrument: Instrument {
  static let shared = InspectionInstrument()

  private struct Entry {
    let wait: WatchedWait
    /// A time on the ``InspectionClock``.
    let since: UInt64
    let invocation: Invocation?
  }

  private let entries = Guarded<[UInt64: Entry]>([:])

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
