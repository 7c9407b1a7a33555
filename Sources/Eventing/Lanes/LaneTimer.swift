import Synchronization

/// A timer of a lane or of a pace. It ends a delay between two attempts, the time in which a batch
/// gathers payloads, the time limit of an attempt, or the interval in which a pace keeps payloads.
// Safe: only the queue touches `heapIndex`, under its mutex. All else is immutable or atomic.
final class LaneTimer: DelayedWork, @unchecked Sendable {
  var heapIndex = -1
  /// The place in the order in which timers were made.
  let number = LaneTimer.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private let isOpen = Atomic<Bool>(true)
  /// Whether the call that waits must end without another attempt.
  let isGivenUp = Atomic<Bool>(false)
  private let action: @Sendable () -> Void
  private let queue: any DelayQueueing
  /// The nodes of the wait graph that wait until the timer fires, such as a call between two
  /// attempts. Only the clock of a test is told of them. Empty for each other clock.
  private let delayed: [WaitNode]
  /// Whether the clock of a test has been told that the nodes in `delayed` sleep.
  private let isAsleep = Atomic<Bool>(false)

  private static let lastNumber = Atomic<UInt64>(0)

  /// Creates a timer that does nothing before ``start(after:)``.
  ///
  /// - Parameter delayed: The nodes of the wait graph that wait until the timer fires.
  init(
    _ queue: any DelayQueueing, delaying delayed: @autoclosure () -> [WaitNode] = [],
    _ action: @escaping @Sendable () -> Void
  ) {
    self.queue = queue
    self.delayed = queue.idleAwareClock == nil ? [] : delayed()
    self.action = action
  }

  var isWaiting: Bool { isOpen.load(ordering: .acquiring) }
  /// Always `false`, because releasing a timer may run the user's code. Even after it has fired,
  /// the timer retains its action. The action retains a lane, and so the handler's closures and
  /// keys.
  var releasesItself: Bool { false }

  /// Starts the timer. The queue retains it until it fires or is cancelled.
  func start(after delay: Duration) {
    guard !delay.isForever else { return }
    queue.insert(self, after: max(.zero, delay))
    // Called after the insertion. A clock of a test may advance as soon as it is told that the
    // nodes in `delayed` sleep. By then this timer must be in `queue`.
    if !delayed.isEmpty { noteSleep() }
  }

  /// Runs the action, unless it has run or the timer was cancelled.
  func fire() {
    guard close() else { return }
    action()
  }

  /// Runs the action at once, and removes the timer from its queue. Does nothing if the action has
  /// run, or the timer was cancelled.
  @inline(never) func fireNow() {
    guard close() else { return }
    queue.noteCancelled(self)
    action()
  }

  /// Cancels the timer. Returns false if the action has run or begun, or if the timer was cancelled
  /// before.
  @discardableResult @inline(never) func cancel() -> Bool {
    guard close() else { return false }
    queue.noteCancelled(self)
    return true
  }

  /// Closes the timer, so that no other thread runs the action. Returns whether it was open. From
  /// now on, the clock of a test counts the nodes in `delayed` as running.
  private func close() -> Bool {
    guard isOpen.exchange(false, ordering: .sequentiallyConsistent) else { return false }
    if !delayed.isEmpty { noteEndOfSleep() }
    return true
  }

  private func noteSleep() {
    for node in delayed { queue.idleAwareClock?.sleepBegan(SleepingWork(node: node)) }
    _ = isAsleep.exchange(true, ordering: .sequentiallyConsistent)
    // If another thread closed the timer before `isAsleep` was set, its noteEndOfSleep() did
    // nothing. Then this thread ends the sleep.
    if !isOpen.load(ordering: .sequentiallyConsistent) { noteEndOfSleep() }
  }

  @inline(never) private func noteEndOfSleep() {
    guard isAsleep.exchange(false, ordering: .sequentiallyConsistent) else { return }
    for node in delayed { queue.idleAwareClock?.sleepEnded(SleepingWork(node: node)) }
  }
}

/// The delays of a handler between two attempts, which end when the handler is locked or removed.
// Safe: each field says what guards it.
final class HandlerDelays: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var timers: [UInt64: LaneTimer] = [:]

  func insert(_ timer: LaneTimer) { mutex.withLock { unsafe timers[timer.number] = timer } }

  func remove(_ timer: LaneTimer) {
    let removed = mutex.withLock {
      let removed = unsafe timers.removeValue(forKey: timer.number)
      unsafe timers.giveBackRoom()
      return removed
    }
    withExtendedLifetime(removed) {}  // released after the unlock
  }

  /// Ends all delays, so that the calls go on at once. Never called under a mutex.
  ///
  /// - Parameter givingUp: Whether these calls must end without another attempt, because a lock has
  ///   begun that keeps no occurrences. Each delay gets a flag, because the lock may have ended by
  ///   the time its call goes on.
  @inline(never) func end(givingUp: Bool = false) {
    for timer in mutex.withLock({ unsafe Array(timers.values) }).sortedUnspecialized(by: { $0.number < $1.number }) {
      if givingUp { timer.isGivenUp.publish(true) }
      timer.fireNow()
    }
  }
}

/// The task of an attempt that can be cancelled: because of a time limit, or of a newer occurrence.
// Safe: each field says what guards it.
final class CancellableAttempt: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var task: Task<Attempt, Never>?
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var isCancelled = false
  /// Whether the time limit was over before the attempt returned.
  let isLate = Atomic<Bool>(false)

  /// Sets the task, and cancels it if the attempt was cancelled before.
  func set(_ task: Task<Attempt, Never>) {
    let isLate = mutex.withLock { () -> Bool in
      unsafe self.task = task
      return unsafe isCancelled
    }
    if isLate { task.cancel() }
  }

  func cancel() {
    let task = mutex.withLock { () -> Task<Attempt, Never>? in
      unsafe isCancelled = true
      return unsafe self.task
    }
    task?.cancel()
  }
}
