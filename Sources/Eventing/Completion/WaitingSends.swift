import Synchronization

/// The sends, tickets and barriers that tasks wait for, while a watcher looks for calls that hang,
/// or the ``EventRegistry`` is on.
///
/// At other times no wait is noted, and a wait costs two loads of atomic counters.
package enum WaitingSends {
  struct Entry {
    let completion: Completion
    /// The anchor of the event, if the event may still have to deliver the occurrence.
    let anchor: EventAnchor?
    let start: StableInstant
    /// The number of the wait, which no other wait has.
    let number: UInt64
    /// When the wait began, on the ``InspectionClock``.
    let since: UInt64
    /// The number of tasks that wait.
    var waiters = 0
  }

  private static let lastNumber = Atomic<UInt64>(0)

  /// Returns a number that no other wait has.
  static func newNumber() -> UInt64 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

  private static let watchers = Atomic<Int>(0)
  private static let count = Atomic<Int>(0)
  static let entries = Guarded<[ObjectIdentifier: Entry]>([:])

  /// Whether waits are noted.
  static var isWatched: Bool { watchers.load(ordering: .relaxed) > 0 }

  /// Changes the number of watchers for which waits are noted.
  package static func watch(_ change: Int) {
    if watchers.wrappingAdd(change, ordering: .relaxed).newValue == 0 { DeferredWaits.removeAll() }
  }

  /// Notes, in the table of waits, a completion whose event has still to deliver the occurrence.
  ///
  /// The calling task, or the task that receives the completion from it, must wait for the
  /// completion afterwards. Only the end of such a wait removes the note: ``end(_:wasNoted:)``.
  static func expect(_ completion: Completion, at anchor: EventAnchor?) {
    if isWatched { note(completion, anchor, waiters: 0) }
  }

  /// Notes that a task waits for a completion.
  ///
  /// Does nothing unless inspections or diagnostics watch: see ``EventRegistry``.
  ///
  /// - Returns: Whether the wait was noted.
  static func begin(_ completion: Completion) -> Bool {
    guard isWatched else { return false }
    note(completion, nil, waiters: 1)
    return true
  }

  @inline(never) private static func note(_ completion: Completion, _ anchor: EventAnchor?, waiters: Int) {
    let start = StableInstant.now
    let number = newNumber()
    let since = InspectionClock.now
    let isNew = entries.withLock { entries -> Bool in
      let id = ObjectIdentifier(completion)
      let isNew = entries[id] == nil
      entries[id, default: Entry(completion: completion, anchor: anchor, start: start, number: number, since: since)]
        .waiters += waiters
      return isNew
    }
    if isNew { count.wrappingAdd(1, ordering: .relaxed) }
  }

  /// Forgets that a task waits for a completion. Removes the completion's entry unless it counts
  /// other tasks that wait.
  ///
  /// - Parameter wasNoted: The result of ``begin(_:)`` for this wait: whether the entry counts the
  ///   task among its `waiters`. If false, the entry may still exist with 0 `waiters`: then
  ///   ``expect(_:at:)`` has added it for this wait.
  static func end(_ completion: Completion, wasNoted: Bool) {
    guard count.load(ordering: .relaxed) > 0 else { return }
    let gone = entries.withLock { entries -> Entry? in
      let id = ObjectIdentifier(completion)
      guard let entry = entries[id] else { return nil }
      let left = entry.waiters - (wasNoted ? 1 : 0)
      if left > 0 {
        entries[id]?.waiters = left
        return nil
      }
      return entries.removeValue(forKey: id)
    }
    if gone != nil { count.wrappingSubtract(1, ordering: .relaxed) }
  }

  /// The number of completions that are noted.
  static var noted: Int { entries.withLock { $0.count } }
}

extension WaitingSends {
  /// The waits of tasks, as an inspection shows them.
  static var polled: [PolledWait] {
    let entries = entries.withLock { $0.values.filter { $0.waiters > 0 } }
    return entries.compactMap { $0.completion.polledWait(id: $0.number, since: $0.since, at: $0.anchor) }
  }
}
