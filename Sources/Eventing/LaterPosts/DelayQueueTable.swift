package final class DelayQueueTable: Sendable {
  private struct Key: Hashable {
    let type: ObjectIdentifier
    let hash: Int
  }

  private struct Entry: Sendable {
    let number: UInt64
    let queue: WeakQueue
  }

  private final class WeakQueue: Sendable {
    weak let queue: DelayQueue?
    init(_ queue: DelayQueue) { self.queue = queue }
  }

  private struct State {
    var entries: [Key: [Entry]] = [:]
    var added: UInt64 = 0
    /// A new entry gets the number of its search, by which `forget` finds it.
    var lastNumber: UInt64 = 0
  }

  private let state = Guarded(State())
  /// Bounds a search. Further clocks with this type and hash get a queue for each work.
  private static let mostOfOneHash = 64

  package init() {}

  func queue(of clock: any Clock<Duration>, in simulation: (any SimulatedScheduling)?) -> DelayQueue {
    find(clock, simulation)
  }

  private func find<C: Clock<Duration>>(_ clock: C, _ simulation: (any SimulatedScheduling)?) -> DelayQueue {
    // A value without `==` is a clock of its own each time, so it never enters the table.
    guard ClockIdentity.isKnown(clock) else { return DelayQueue(SleepingTimer(clock, in: simulation)) }
    let key = Key(type: ObjectIdentifier(C.self), hash: ClockIdentity.hash(of: clock))
    while true {
      let (candidates, added, number) = state.withLock { state in
        state.lastNumber += 1
        // `map` makes a new array. If this thread held the stored array instead, another thread
        // that changes the stored array under the mutex would have to copy it.
        return (state.entries[key]?.map(\.queue) ?? [], state.added, state.lastNumber)
      }
      // Compared outside of the mutex, because `==` of a clock is the user's code. Moreover,
      // `candidate.queue` makes a strong reference, which may become the last one. Then the
      // `deinit` of the queue runs here, and calls `forget`, which takes the mutex.
      for candidate in candidates {
        if let queue = candidate.queue, queue.measures(clock) { return queue }
      }
      let made = DelayQueue(SleepingTimer(clock, in: simulation)) { [self] in forget(key, number) }
      let entry = Entry(number: number, queue: WeakQueue(made))
      let isAdded = state.withLock { state -> Bool in
        guard state.added == added else { return false }  // another thread was faster: look again
        // Clocks that are not hashable, or whose hash values are equal, are compared one by one.
        guard state.entries[key, default: []].count < Self.mostOfOneHash else { return true }
        state.added += 1
        state.entries[key, default: []].append(entry)
        return true
      }
      if isAdded { return made }
    }
  }

  var entryCount: Int { state.withLock { $0.entries.values.reduce(0) { $0 + $1.count } } }

  private func forget(_ key: Key, _ number: UInt64) {
    state.withLock { state in
      state.entries[key]?.removeAll { $0.number == number }
      if state.entries[key]?.isEmpty == true { state.entries[key] = nil }
      state.entries.giveBackRoom()
    }
  }
}
