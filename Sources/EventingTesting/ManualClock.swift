import Eventing

/// A clock that stands still until a test moves it.
///
///     let clock = ManualClock()
///     async let payload = event.next(within: .seconds(2), clock: clock)
///     while clock.sleeperCount == 0 { await Task.yield() }          // it sleeps now
///     clock.advance(by: .seconds(2))
///
/// In a ``Simulation``, the clock moves by itself to the next sleeper when nothing else can run. It
/// can be used from any thread.
public final class ManualClock: Clock, @unchecked Sendable {
  /// A time on this clock. The clock begins at zero.
  public struct Instant: InstantProtocol, CustomStringConvertible {
    /// The duration since the beginning.
    public let offset: Duration

    /// Returns the instant that is later by a duration.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    /// Returns the duration from this instant to another one.
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    /// The duration since the beginning, as text.
    public var description: String { "\(offset)" }
  }

  private typealias Sleeper = (id: Int, until: Instant, continuation: CheckedContinuation<Void, any Error>)

  // Safe: guards all mutable state.
  private let mutex = UnfairMutex()
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var time = Instant(offset: .zero)
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var lastID = 0
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var sleepers: [Sleeper] = []
  /// The sleepers that were cancelled before they slept. Guarded by: mutex.
  @exclusivity(unchecked) private var cancelled: Set<Int> = []

  /// Creates a clock that stands at zero.
  public init() {}

  /// The current time of the clock.
  public var now: Instant { mutex.withLock { unsafe time } }
  /// Zero: the time is exact.
  public var minimumResolution: Duration { .zero }
  /// The number of tasks that sleep on this clock.
  public var sleeperCount: Int { mutex.withLock { unsafe sleepers.count } }

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

  /// Moves the clock to the time of the next sleeper, and wakes that one.
  ///
  /// - Returns: `false` if there is no sleeper.
  @discardableResult public func advanceToNext() -> Bool {
    let due = mutex.withLock { () -> [Sleeper] in
      guard let first = unsafe sleepers.min(by: ManualClock.isBefore) else { return [] }
      unsafe time = max(time, first.until)
      unsafe sleepers.removeAll { $0.id == first.id }
      return [first]
    }
    for sleeper in due { sleeper.continuation.resume() }
    return !due.isEmpty
  }

  private static func isBefore(_ a: Sleeper, _ b: Sleeper) -> Bool { (a.until, a.id) < (b.until, b.id) }

  /// Removes and returns the sleepers whose time has come. The caller holds `mutex`.
  private func takeDue() -> [Sleeper] {
    let due = unsafe sleepers.filter { unsafe $0.until <= time }.sorted(by: ManualClock.isBefore)
    unsafe sleepers.removeAll { unsafe $0.until <= time }
    return due
  }

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
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let outcome = mutex.withLock { () -> Result<Void, any Error>? in
          if unsafe cancelled.remove(id) != nil { return .failure(CancellationError()) }
          if unsafe deadline <= time { return .success(()) }
          unsafe sleepers.append((id, deadline, continuation))
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      let sleeper = mutex.withLock { () -> Sleeper? in
        guard let at = unsafe sleepers.firstIndex(where: { $0.id == id }) else {
          unsafe cancelled.insert(id)
          return nil
        }
        return unsafe sleepers.remove(at: at)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
    _ = mutex.withLock { unsafe cancelled.remove(id) }
  }
}
