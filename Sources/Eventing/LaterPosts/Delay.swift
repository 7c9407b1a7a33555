import Synchronization

/// A timer of a lane or of a pace. It ends a delay between two attempts, the time in which a batch
/// gathers payloads, the time limit of an attempt, or the interval in which a pace keeps payloads.
// Safe: only the queue touches `heapIndex`, under its mutex. All else is immutable or atomic.
final class Delay: DelayedWork, @unchecked Sendable {
  var heapIndex = -1
  /// The place in the order in which timers were made.
  let number = Delay.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private let isOpen = Atomic<Bool>(true)
  /// Whether the call that waits must end without another attempt.
  let isGivenUp = Atomic<Bool>(false)
  private let action: @Sendable () -> Void
  private let queue: DelayQueue
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
    _ queue: DelayQueue, delaying delayed: @autoclosure () -> [WaitNode] = [],
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
