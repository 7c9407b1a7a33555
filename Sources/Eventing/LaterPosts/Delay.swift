import Synchronization

// Safe: only the queue touches `heapIndex`, under its mutex. All else is immutable or atomic.
final class Delay: DelayedWork, @unchecked Sendable {
  var heapIndex = -1
  let number = Delay.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private let isOpen = Atomic<Bool>(true)
  /// Whether the waiting call must end without another attempt.
  let isGivenUp = Atomic<Bool>(false)
  private let action: @Sendable () -> Void
  private let queue: DelayQueue
  /// Waits for the timer, such as a call between two attempts. Only an ``IdleAwareClock`` is told.
  private let delayed: [WaitNode]
  private let isAsleep = Atomic<Bool>(false)

  private static let lastNumber = Atomic<UInt64>(0)

  init(
    _ queue: DelayQueue, delaying delayed: @autoclosure () -> [WaitNode] = [],
    _ action: @escaping @Sendable () -> Void
  ) {
    self.queue = queue
    self.delayed = queue.idleAwareClock == nil ? [] : delayed()
    self.action = action
  }

  var isWaiting: Bool { isOpen.load(ordering: .acquiring) }
  /// The fired timer still retains its action, and so a lane, its closures and its keys.
  var releasesItself: Bool { false }

  func start(after delay: Duration) {
    guard !delay.isForever else { return }
    queue.insert(self, after: max(.zero, delay))
    // Called after the insertion. A clock of a test may advance as soon as it is told that the
    // nodes in `delayed` sleep. By then this timer must be in `queue`.
    if !delayed.isEmpty { noteSleep() }
  }

  func fire() {
    guard close() else { return }
    action()
  }

  @inline(never) func fireNow() {
    guard close() else { return }
    queue.noteCancelled(self)
    action()
  }

  @discardableResult @inline(never) func cancel() -> Bool {
    guard close() else { return false }
    queue.noteCancelled(self)
    return true
  }

  /// Decides which thread runs the action. From now on, the nodes in `delayed` count as running.
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
