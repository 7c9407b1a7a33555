import Synchronization

// Safe: only the queue accesses `heapIndex`, under its mutex. Everything else is immutable or
// atomic.
final class Delay: DelayedWork, @unchecked Sendable {
  var heapIndex = -1
  let number = Delay.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  private let isOpen = Atomic<Bool>(true)
  /// Whether the waiting call must end without another attempt.
  let isGivenUp = Atomic<Bool>(false)
  private let action: @Sendable () -> Void
  private let queue: TimerQueue
  /// The nodes that wait for the timer, such as a call between two attempts. Reported only to an
  /// ``IdleAwareClock``.
  private let delayed: [WaitNode]
  private let isAsleep = Atomic<Bool>(false)

  private static let lastNumber = Atomic<UInt64>(0)

  init(
    _ queue: TimerQueue, delaying delayed: @autoclosure () -> [WaitNode] = [],
    _ action: @escaping @Sendable () -> Void
  ) {
    self.queue = queue
    self.delayed = queue.idleAwareClock == nil ? [] : delayed()
    self.action = action
  }

  var isWaiting: Bool { isOpen.load(ordering: .acquiring) }

  func start(after delay: Duration) {
    guard !delay.isForever else { return }
    queue.insert(self, after: max(.zero, delay))
    // Called after the insertion, because a test's clock may advance as soon as it learns that the
    // nodes in `delayed` are asleep. This timer must be in `queue` by then.
    if !delayed.isEmpty { noteSleep() }
  }

  func fire() {
    if close() { action() }
  }

  /// A fired timer still retains its action, and with it a lane, its closures and its keys.
  func letGo() {}

  @inline(never) func fireNow() {
    if cancel() { action() }
  }

  @discardableResult @inline(never) func cancel() -> Bool {
    guard close() else { return false }
    queue.noteCancelled(self)
    return true
  }

  /// Returns true only to the first caller, which decides whether the action runs. From then on,
  /// the nodes in `delayed` count as running.
  private func close() -> Bool {
    guard isOpen.exchange(false, ordering: .sequentiallyConsistent) else { return false }
    if !delayed.isEmpty { noteEndOfSleep() }
    return true
  }

  private func noteSleep() {
    for node in delayed { queue.idleAwareClock?.sleepBegan(SleepingWork(node: node)) }
    _ = isAsleep.exchange(true, ordering: .sequentiallyConsistent)
    // If another thread closed the timer before `isAsleep` was set, its noteEndOfSleep() did
    // nothing, so this thread ends the sleep.
    if !isOpen.load(ordering: .sequentiallyConsistent) { noteEndOfSleep() }
  }

  @inline(never) private func noteEndOfSleep() {
    guard isAsleep.exchange(false, ordering: .sequentiallyConsistent) else { return }
    for node in delayed { queue.idleAwareClock?.sleepEnded(SleepingWork(node: node)) }
  }
}

/// Objects are compared by identity, values by `==`. Without `==`, all values of a type that has no
/// stored properties are the same clock, and any other value is a clock of its own.
enum ClockIdentity {
  static func hash<C: Clock>(of clock: C) -> Int {
    if C.self is AnyObject.Type { return ObjectIdentifier(clock as AnyObject).hashValue }
    return (clock as? any Hashable)?.hashValue ?? 0
  }

  static func isSame<C: Clock>(_ a: C, _ b: C) -> Bool {
    if C.self is AnyObject.Type { return a as AnyObject === b as AnyObject }
    if let a = a as? any Equatable { return isEqual(a, b) }
    return MemoryLayout<C>.size == 0
  }

  static func isKnown<C: Clock>(_ clock: C) -> Bool {
    C.self is AnyObject.Type || clock is any Equatable || MemoryLayout<C>.size == 0
  }

  private static func isEqual<Value: Equatable>(_ a: Value, _ b: Any) -> Bool { b as? Value == a }
}

final class HandlerDelays: Sendable {
  private let timers = Guarded<[UInt64: Delay]>([:])

  func insert(_ timer: Delay) { timers.withLock { $0[timer.number] = timer } }

  func remove(_ timer: Delay) {
    let removed = timers.withLock { timers in
      let removed = timers.removeValue(forKey: timer.number)
      timers.giveBackRoom()
      return removed
    }
    withExtendedLifetime(removed) {}  // released after unlocking
  }

  /// With `givingUp`, each delay is flagged, because the lock may have ended by the time the
  /// delayed call continues. Never called under a mutex.
  @inline(never) func end(givingUp: Bool = false) {
    for timer in timers.withLock({ Array($0.values) }).sortedUnspecialized(by: { $0.number < $1.number }) {
      if givingUp { timer.isGivenUp.publish(true) }
      timer.fireNow()
    }
  }
}
