/// The later posts that wait for one clock, whatever its type.
protocol DelayQueueing: AnyObject, Sendable {
  /// Notes that an item of the queue has been cancelled.
  func noteCancelled()
}

/// The later posts that wait for one clock, in the order of their deadlines: a binary heap, and one
/// task that sleeps until the first deadline.
///
/// Adding costs O(log n). A cancelled item stays in the heap until half of the heap is cancelled.
// Safe: what changes is guarded by `mutex`.
final class DelayQueue<C: Clock>: DelayQueueing, @unchecked Sendable where C.Duration == Duration {
  private struct Entry: Sendable {
    let deadline: C.Instant
    /// Of two entries with one deadline, the one that was made first comes first.
    let number: UInt64
    /// The item; `nil` if its event is gone.
    let item: @Sendable () -> LaterItem?

    func isBefore(_ other: Entry) -> Bool {
      deadline != other.deadline ? deadline < other.deadline : number < other.number
    }
  }

  private let clock: C
  private let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var heap: [Entry] = []
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var cancelledCount = 0
  /// The deadline for which a task sleeps, and the number of that task. Guarded by: mutex.
  @exclusivity(unchecked) private var timer: (deadline: C.Instant, number: UInt64)?
  /// Cancels the task when it is released. Guarded by: mutex.
  @exclusivity(unchecked) private var sleeper: (any AnyObject & Sendable)?
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var lastTimer: UInt64 = 0

  init(_ clock: C) { self.clock = clock }

  func insert(_ item: LaterItem, after delay: Duration) {
    let entry = Entry(
      deadline: clock.now.advanced(by: delay), number: item.id, item: { [weak item] in item })
    let number = mutex.withLock { () -> UInt64? in
      unsafe heap.append(entry)
      siftUp()
      return nextTimer()
    }
    if let number { startTimer(number, entry.deadline) }
  }

  func noteCancelled() {
    let mustCompact = mutex.withLock { () -> Bool in
      unsafe cancelledCount += 1
      return unsafe cancelledCount > 64 && cancelledCount > heap.count / 2
    }
    if mustCompact { compact() }
  }

  /// Removes cancelled entries. Items are asked outside of the mutex: they are held weakly.
  private func compact() {
    let entries = mutex.withLock { () -> [Entry] in
      defer { unsafe (heap, cancelledCount) = ([], 0) }
      return unsafe heap
    }
    let waiting = entries.filter { $0.item()?.stage == .waiting }
    let number = mutex.withLock { () -> (UInt64, C.Instant)? in
      for entry in waiting {
        unsafe heap.append(entry)
        siftUp()
      }
      guard let number = nextTimer(), let timer = unsafe timer else { return nil }
      return (number, timer.deadline)
    }
    if let (number, deadline) = number { startTimer(number, deadline) }
  }

  // MARK: The timer

  /// Returns the number of a timer to start, if none sleeps until the first deadline or earlier.
  /// The caller holds `mutex`.
  private func nextTimer() -> UInt64? {
    guard let first = unsafe heap.first else { return nil }
    if let timer = unsafe timer, timer.deadline <= first.deadline { return nil }
    unsafe lastTimer += 1
    unsafe timer = unsafe (first.deadline, lastTimer)
    return unsafe lastTimer
  }

  private func startTimer(_ number: UInt64, _ deadline: C.Instant) {
    let task = Scheduling.timer(on: clock, until: deadline) { self.fire(number) }
    var replaced: (any AnyObject & Sendable)? = task
    mutex.withLock {
      if unsafe timer?.number == number { unsafe swap(&sleeper, &replaced) }
    }
    withExtendedLifetime(replaced) {}  // a timer that another one has replaced is cancelled here
  }

  /// Posts what is due, unless a later timer has taken over.
  private func fire(_ number: UInt64) {
    let now = clock.now
    var due: [Entry] = []
    let next = mutex.withLock { () -> (UInt64, C.Instant)? in
      guard unsafe timer?.number == number else { return nil }
      unsafe timer = nil
      while let first = unsafe heap.first, first.deadline <= now { due.append(popFirst()) }
      guard let number = nextTimer(), let timer = unsafe timer else { return nil }
      return (number, timer.deadline)
    }
    if let (number, deadline) = next { startTimer(number, deadline) }
    for entry in due { entry.item()?.post() }
  }

  // MARK: The heap. The caller holds `mutex`

  private func siftUp() {
    var child = unsafe heap.count - 1
    while child > 0, case let parent = (child - 1) / 2, unsafe heap[child].isBefore(heap[parent]) {
      unsafe heap.swapAt(child, parent)
      child = parent
    }
  }

  private func popFirst() -> Entry {
    unsafe heap.swapAt(0, heap.count - 1)
    let first = unsafe heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where unsafe child < heap.count && heap[child].isBefore(heap[least])
      {
        least = child
      }
      if least == parent { break }
      unsafe heap.swapAt(least, parent)
      parent = least
    }
    unsafe heap.giveBackRoom()
    return first
  }
}

/// The queues of the standard library's clocks, for the whole process.
enum DelayQueues {
  static let continuous = DelayQueue(ContinuousClock())
  static let suspending = DelayQueue(SuspendingClock())
}
