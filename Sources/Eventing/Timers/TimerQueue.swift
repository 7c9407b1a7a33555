/// If the timer fires too early, the queue rearms it, so cancelling the earliest work doesn't have
/// to touch the timer. The queue retains work until the work runs or is cancelled.
final class TimerQueue: Sendable {
  /// A change to the timer, made by one thread at a time with no mutex held.
  private enum Alarm {
    case at(Duration)
    case off
  }

  private struct State {
    let stopsWhenUnused: Bool
    var heap = DelayHeap()
    var alarm: Duration?
    var isTimerUsed = false
    var isSetting = false
    var isFiring = false
    var ringCount: UInt64 = 0
    var ringCountAtSetting: UInt64 = 0

    @inline(never) mutating func beginSetting() -> Alarm? {
      guard !isSetting, !isFiring else { return nil }
      let next: Alarm
      if let first = heap.firstDeadline {
        if let alarm, alarm <= first { return nil }
        next = .at(first)
      } else {
        if !isTimerUsed || !stopsWhenUnused { return nil }
        next = .off
      }
      isSetting = true
      ringCountAtSetting = ringCount
      return next
    }

    mutating func endSetting(_ alarm: Alarm) {
      isSetting = false
      switch alarm {
      case .at(let deadline):
        // The timer may have rung since it was set.
        self.alarm = ringCount == ringCountAtSetting ? deadline : nil
        isTimerUsed = true
      case .off:
        self.alarm = nil
        isTimerUsed = false
      }
    }
  }

  static var batch: Int { 64 }

  private let timer: any DelayTimer
  private let state: Guarded<State>
  private let onDeinit: @Sendable () -> Void

  init(_ timer: any DelayTimer, onDeinit: @escaping @Sendable () -> Void = {}) {
    self.timer = timer
    state = Guarded(State(stopsWhenUnused: timer.stopsWhenUnused))
    self.onDeinit = onDeinit
  }

  deinit {
    timer.stop()
    onDeinit()
  }

  var now: Duration { timer.now }

  /// Work with equal deadlines fires in insertion order. The delay must be between zero and a
  /// hundred years.
  func insert(_ work: any DelayedWork, after delay: Duration) {
    // For a test's clock, the insertion counts as work until this thread has set the timer or left
    // that to another thread.
    let idleAwareClock = timer.idleAwareClock
    idleAwareClock?.timerBegan()
    defer { idleAwareClock?.timerEnded() }
    let deadline = timer.now.adding(delay)
    set(
      state.withLock { state -> Alarm? in
        guard work.isWaiting, work.heapIndex < 0 else { return nil }
        state.heap.insert(work, deadline)
        return state.beginSetting()
      })
  }

  @inline(never) func noteCancelled(_ work: any DelayedWork) {
    set(
      state.withLock { state -> Alarm? in
        guard work.heapIndex >= 0 else { return nil }
        state.heap.remove(at: work.heapIndex)  // the caller retains the work
        return state.beginSetting()
      })
  }

  /// Runs user code, namely the clock's `==`.
  func measures(_ clock: any Clock<Duration>) -> Bool { timer.measures(clock) }
  var idleAwareClock: (any IdleAwareClock)? { timer.idleAwareClock }

  // MARK: The timer

  @inline(never) private func set(_ alarm: Alarm?) {
    var next = alarm
    while let alarm = next {
      if case .at(let deadline) = alarm { timer.set(deadline, self) } else { timer.stop() }
      next = state.withLock { state -> Alarm? in
        state.endSetting(alarm)
        return state.beginSetting()
      }
    }
  }

  /// Returns whether the caller must fire. If not, another thread is firing.
  func beginFiring() -> Bool {
    state.withLock { state in
      state.ringCount += 1
      state.alarm = nil
      defer { state.isFiring = true }
      return !state.isFiring
    }
  }

  /// Only one thread fires at a time, so work fires in the order of the deadlines.
  func fireSome(notAfter instant: Duration? = nil) -> Int {
    let now = max(timer.now, instant ?? .zero)
    var due: [any DelayedWork] = []
    set(
      state.withLock { state -> Alarm? in
        while due.count < TimerQueue.batch, let work = state.heap.popFirst(notAfter: now) { due.append(work) }
        guard due.isEmpty else { return nil }
        state.isFiring = false
        return state.beginSetting()
      })
    for work in due { work.fire() }
    let count = due.count
    release(&due)
    return count
  }

  /// Releases the work on the global queue, because it may retain the user's objects.
  private func release(_ due: inout [any DelayedWork]) {
    if due.isEmpty { return }
    // In a simulation, everything runs on one thread.
    if Scheduling.isSimulated { return due.forEach { $0.letGo() } }
    // If this thread is the last to release `fired`, the array is empty by then.
    let fired = Guarded<[any DelayedWork]>([])
    fired.withLock { swap(&$0, &due) }
    Scheduling.concurrentBlock {
      var taken: [any DelayedWork] = []
      fired.withLock { swap(&$0, &taken) }
      for work in taken { work.letGo() }
    }
  }
}

package final class TimerQueueTable: Sendable {
  private struct Key: Hashable {
    let type: ObjectIdentifier
    let hash: Int
  }

  private struct Entry: Sendable {
    let number: UInt64
    weak let queue: TimerQueue?
  }

  private struct State {
    var entries: [Key: [Entry]] = [:]
    var added: UInt64 = 0
    /// A new entry gets the number of its search, which `forget` uses to find it.
    var lastNumber: UInt64 = 0
  }

  private let state = Guarded(State())
  /// Bounds the search. Further clocks with the same type and hash get a queue for each piece of
  /// work.
  private static let mostOfOneHash = 64

  package init() {}

  func queue<C: Clock<Duration>>(of clock: C, in simulation: (any SimulatedScheduling)?) -> TimerQueue {
    // A value without `==` counts as a different clock each time, so it never enters the table.
    guard ClockIdentity.isKnown(clock) else { return TimerQueue(SleepingTimer(clock, in: simulation)) }
    let key = Key(type: ObjectIdentifier(C.self), hash: ClockIdentity.hash(of: clock))
    while true {
      let (candidates, added, number) = state.withLock { state in
        state.lastNumber += 1
        // `map` makes a new array. If this thread kept a reference to the stored array instead,
        // another thread that changes it under the mutex would have to copy it.
        return (state.entries[key]?.map { $0 } ?? [], state.added, state.lastNumber)
      }
      // Compared outside the mutex, because a clock's `==` is user code. Moreover,
      // `candidate.queue` makes a strong reference. If that becomes the last one, the queue's
      // `deinit` runs here and calls `forget`, which takes the mutex.
      for candidate in candidates {
        if let queue = candidate.queue, queue.measures(clock) { return queue }
      }
      let made = TimerQueue(SleepingTimer(clock, in: simulation)) { [self] in forget(key, number) }
      let entry = Entry(number: number, queue: made)
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

enum TimerQueues {
  private static let continuous = TimerQueue(DispatchTimer(ContinuousClock(), isContinuous: true))
  private static let suspending = TimerQueue(DispatchTimer(SuspendingClock(), isContinuous: false))
  private static let others = TimerQueueTable()

  /// Runs user code, the clock's `==` and `hash(into:)`, so never called under a mutex.
  static func of(_ clock: any Clock<Duration>, for anchor: EventAnchor) -> TimerQueue {
    if let queue = ofStandardLibrary(clock) { return queue }
    // A simulation has queues of its own, so that no timer outlives it.
    let simulation = Scheduling.currentSimulation
    let isStandard = clock is ContinuousClock || clock is SuspendingClock
    let measuring = isStandard ? simulation?.delayClock ?? clock : clock
    let queue = (simulation?.delayQueues ?? others).queue(of: measuring, in: simulation)
    queue.idleAwareClock?.meet(EventReference(anchor: anchor))
    return queue
  }

  /// `nil` in a simulation.
  static func ofStandardLibrary(_ clock: any Clock<Duration>) -> TimerQueue? {
    if Scheduling.isSimulated { return nil }
    return clock is ContinuousClock ? continuous : clock is SuspendingClock ? suspending : nil
  }
}

/// A binary heap in blocks of memory, guarded by the mutex of the ``TimerQueue``. It grows and
/// shrinks one block at a time, because moving all entries would delay all other threads that use
/// the clock.
struct DelayHeap {
  private struct Entry {
    let deadline: Duration
    let number: UInt64
    let work: any DelayedWork

    func isBefore(_ other: Entry) -> Bool {
      deadline != other.deadline ? deadline < other.deadline : number < other.number
    }
  }

  private static var blockSize: Int { 512 }
  private var blocks: [[Entry]] = []
  private var count = 0
  private var lastNumber: UInt64 = 0

  var firstDeadline: Duration? { count == 0 ? nil : self[0].deadline }

  mutating func insert(_ work: any DelayedWork, _ deadline: Duration) {
    lastNumber += 1
    let entry = Entry(deadline: deadline, number: lastNumber, work: work)
    let block = count / DelayHeap.blockSize
    if block == blocks.count {
      blocks.append([])
      blocks[block].reserveCapacity(DelayHeap.blockSize)
    }
    blocks[block].append(entry)
    count += 1
    siftUp(entry, from: count - 1)
  }

  mutating func popFirst(notAfter instant: Duration) -> (any DelayedWork)? {
    guard count > 0, self[0].deadline <= instant else { return nil }
    return remove(at: 0)
  }

  /// The caller must not release the last reference under the mutex.
  @discardableResult mutating func remove(at index: Int) -> any DelayedWork {
    let removed = self[index].work
    removed.heapIndex = -1
    count -= 1
    let last = blocks[count / DelayHeap.blockSize].removeLast()
    // One empty block is kept, so that work that comes and goes doesn't allocate each time.
    if blocks.count > count / DelayHeap.blockSize + 2 { blocks.removeLast() }
    guard index < count else { return removed }
    if index > 0, last.isBefore(self[(index - 1) / 2]) {
      siftUp(last, from: index)
    } else {
      siftDown(last, from: index)
    }
    return removed
  }

  private subscript(index: Int) -> Entry {
    get { blocks[index / DelayHeap.blockSize][index % DelayHeap.blockSize] }
    set {
      blocks[index / DelayHeap.blockSize][index % DelayHeap.blockSize] = newValue
      newValue.work.heapIndex = index
    }
  }

  private mutating func siftUp(_ entry: Entry, from start: Int) {
    var index = start
    while index > 0, case let parent = (index - 1) / 2, entry.isBefore(self[parent]) {
      self[index] = self[parent]
      index = parent
    }
    self[index] = entry
  }

  private mutating func siftDown(_ entry: Entry, from start: Int) {
    var index = start
    while case var child = 2 * index + 1, child < count {
      if child + 1 < count, self[child + 1].isBefore(self[child]) { child += 1 }
      guard self[child].isBefore(entry) else { break }
      self[index] = self[child]
      index = child
    }
    self[index] = entry
  }
}
