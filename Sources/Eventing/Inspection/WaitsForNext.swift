/// The calls of ``EventSource/next(within:clock:where:)`` that wait while inspections watch.
///
/// If nothing watches, a call costs one load of an atomic counter.
enum WaitsForNext {
  private static let waits = Guarded<[UInt64: PolledWait]>([:])

  static var all: [PolledWait] { waits.withLock { waits in waits.values.map { wait in wait } } }

  /// Notes that a call of `next` waits. Returns the number of the wait; `nil` if no inspection or
  /// diagnostics watch, or the event has ended.
  static func begin(_ hub: SequenceHub) -> UInt64? {
    guard WaitingSends.isWatched, let event = hub.mutex.withLock({ unsafe hub.token })?.anchor.number else {
      return nil
    }
    let number = WaitingSends.newNumber()
    let wait = PolledWait(
      id: number, kind: .next, event: event, sequence: nil, handlers: [], waitsFor: 0,
      by: Invocation.current?.executionSlot.handlerID, since: InspectionClock.now, deferred: [])
    waits.withLock { $0[number] = wait }
    return number
  }

  static func end(_ number: UInt64) { waits.withLock { _ = $0.removeValue(forKey: number) } }
}
