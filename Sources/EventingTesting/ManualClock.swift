import Eventing

/// A clock that stands still until a test moves it.
///
///     let clock = ManualClock()
///     cart.post(.abandoned, after: .seconds(3_600), clock: clock)
///     await clock.advanceWhenIdle(by: .seconds(3_600))
///
/// In a ``Simulation``, the clock moves by itself to the next sleeper when nothing else can run.
/// Any thread may use the clock.
public final class ManualClock: Clock, @unchecked Sendable {
  /// A time on this clock. The clock begins at zero.
  public struct Instant: InstantProtocol, CustomStringConvertible {
    /// The duration since the beginning.
    public let offset: Duration

    /// Returns the instant that is later by a duration.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset.adding(duration)) }
    /// Returns the duration from this instant to another one.
    public func duration(to other: Instant) -> Duration { other.offset.adding(.zero - offset) }
    public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    /// The duration since the beginning, as text.
    public var description: String { "\(offset)" }
  }

  struct Sleeper {
    let id: Int
    let until: Instant
    /// The handler call of the task.
    let work: SleepingWork?
    let isTimer: Bool
    let continuation: CheckedContinuation<Void, any Error>
  }

  // Safe: the mutex guards all mutable state.
  let mutex = UnfairMutex()
  // Guarded by: mutex.
  @exclusivity(unchecked) private var time = Instant(offset: .zero)
  // Guarded by: mutex.
  @exclusivity(unchecked) private var lastID = 0
  // Guarded by: mutex.
  @exclusivity(unchecked) private var sleepers: [Sleeper] = []
  /// Cancelled before they slept. Guarded by: mutex.
  @exclusivity(unchecked) private var cancelled: Set<Int> = []
  /// Calls of ``waitForSleepers(_:)``. Guarded by: mutex.
  @exclusivity(unchecked) private var waiting: [(count: Int, gate: TestGate)] = []
  /// For ``advanceWhenIdle(by:)``. Guarded by: mutex.
  @exclusivity(unchecked) var activity = Activity()

  /// Creates a clock that stands at zero.
  public init() {}

  /// The current time of the clock.
  public var now: Instant { mutex.withLock { unsafe time } }
  /// Zero: the time is exact.
  public var minimumResolution: Duration { .zero }
  /// The number of tasks that sleep on this clock.
  public var sleeperCount: Int { mutex.withLock { unsafe sleepers.count } }
  /// Also work without a sleeping task, such as a handler that waits for its next attempt.
  var sleepingWork: [SleepingWork] { mutex.withLock { unsafe sleepers.compactMap(\.work) + activity.waiting } }

  /// Waits until a number of tasks sleep on this clock, or the calling task is cancelled.
  ///
  /// To move the clock over a handler's delay, a time limit or a delayed post, this wait is not
  /// needed: see ``advanceWhenIdle(by:)``.
  ///
  /// - Parameter count: The smallest number of tasks.
  public func waitForSleepers(_ count: Int = 1) async {
    let gate = TestGate()
    let isEnough = mutex.withLock { () -> Bool in
      if unsafe sleepers.count >= count { return true }
      unsafe waiting.append((count, gate))
      return false
    }
    if isEnough { return }
    await gate.opened()
    mutex.withLock { unsafe waiting.removeAll { $0.gate === gate } }
  }

  // MARK: Moving

  /// Moves the clock, and wakes the sleepers whose time has come, the earliest first.
  ///
  /// - Parameter duration: The duration to move by. A duration below zero counts as zero.
  public func advance(by duration: Duration) {
    let due = mutex.withLock { () -> [Sleeper] in
      unsafe time = time.advanced(by: max(.zero, duration))
      return takeDue()
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Moves the clock to the time of the next sleeper, and wakes that sleeper.
  ///
  /// - Returns: `false` if there is no sleeper.
  @discardableResult public func advanceToNext() -> Bool {
    let due = mutex.withLock { () -> [Sleeper] in
      guard let first = unsafe sleepers.min(by: ManualClock.isBefore) else { return [] }
      unsafe time = max(time, first.until)
      return take { $0.id == first.id }
    }
    for sleeper in due { sleeper.continuation.resume() }
    return !due.isEmpty
  }

  /// Moves the clock to the next time at which a sleeper is due, but not beyond `end`. Returns
  /// whether it has reached `end`.
  func advanceOnce(towards end: Instant) -> Bool {
    let (due, hasArrived) = mutex.withLock { () -> ([Sleeper], Bool) in
      let next = unsafe min(end, sleepers.map(\.until).min() ?? end)
      unsafe time = max(time, next)
      return (takeDue(), next == end)
    }
    for sleeper in due { sleeper.continuation.resume() }
    return hasArrived
  }

  private static func isBefore(_ a: Sleeper, _ b: Sleeper) -> Bool { (a.until, a.id) < (b.until, b.id) }

  /// In order. The caller holds `mutex`.
  private func takeDue() -> [Sleeper] {
    let now = unsafe time
    return take { $0.until <= now }.sorted(by: ManualClock.isBefore)
  }

  /// Counts the sleepers as awake. The caller holds `mutex`.
  private func take(_ isTaken: (Sleeper) -> Bool) -> [Sleeper] {
    let taken = unsafe sleepers.filter(isTaken)
    unsafe sleepers.removeAll(where: isTaken)
    for sleeper in taken { unsafe activity.noteEnd(of: sleeper) }
    return taken
  }

  // MARK: Sleeping

  /// Waits until the clock has been moved to a time.
  ///
  /// - Parameters:
  ///   - deadline: The time to wait for.
  ///   - tolerance: Ignored: the time is exact.
  /// - Throws: A `CancellationError` if the task is cancelled first.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let id = mutex.withLock { () -> Int in
      unsafe lastID += 1
      return unsafe lastID
    }
    let (work, isTimer) = (SleepingWork.current, Scheduling.isTimer)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let sleeper = Sleeper(id: id, until: deadline, work: work, isTimer: isTimer, continuation: continuation)
        let (outcome, awaited) = mutex.withLock { begin(sleeper) }
        if let outcome { continuation.resume(with: outcome) }
        for gate in awaited { gate.open() }
      }
    } onCancel: {
      let sleepers = mutex.withLock { () -> [Sleeper] in
        let taken = take { $0.id == id }
        if taken.isEmpty { unsafe cancelled.insert(id) }
        return taken
      }
      for sleeper in sleepers { sleeper.continuation.resume(throwing: CancellationError()) }
    }
    _ = mutex.withLock { unsafe cancelled.remove(id) }
  }

  /// Also returns the gates of ``waitForSleepers(_:)`` that open now. The caller holds `mutex`.
  private func begin(_ sleeper: Sleeper) -> (Result<Void, any Error>?, [TestGate]) {
    if unsafe cancelled.remove(sleeper.id) != nil { return (.failure(CancellationError()), []) }
    if unsafe sleeper.until <= time { return (.success(()), []) }
    unsafe sleepers.append(sleeper)
    unsafe activity.noteBeginning(of: sleeper)
    let count = unsafe sleepers.count
    defer { unsafe waiting.removeAll { $0.count <= count } }
    return (nil, unsafe waiting.filter { $0.count <= count }.map(\.gate))
  }
}
