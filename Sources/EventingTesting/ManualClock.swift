import Eventing

/// A clock that stands still until a test moves it.
///
///     let clock = ManualClock()
///     async let payload = event.next(within: .seconds(2), clock: clock)
///     while clock.sleeperCount == 0 { await Task.yield() }          // it sleeps now
///     clock.advance(by: .seconds(2))
///
/// In a ``Simulation`` it moves by itself, to the next sleeper, when nothing else can run.
public final class ManualClock: Clock, @unchecked Sendable {
  /// A time on this clock, which begins at zero.
  public struct Instant: InstantProtocol, CustomStringConvertible {
    /// Since the beginning.
    public let offset: Duration

    /// The instant that is so much later.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    /// How long it is to the other.
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    /// Whether one is earlier.
    public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    /// Since the beginning.
    public var description: String { "\(offset)" }
  }

  private typealias Sleeper = (id: Int, until: Instant, continuation: CheckedContinuation<Void, any Error>)

  // Safe: all of the state is guarded by it.
  private let mutex = UnfairMutex()
  @exclusivity(unchecked) private var time = Instant(offset: .zero)
  @exclusivity(unchecked) private var lastID = 0
  @exclusivity(unchecked) private var sleepers: [Sleeper] = []
  /// Who was cancelled before it slept.
  @exclusivity(unchecked) private var cancelled: Set<Int> = []

  /// A clock that stands at zero.
  public init() {}

  /// Where it stands.
  public var now: Instant { mutex.withLock { unsafe time } }
  /// The time is exact.
  public var minimumResolution: Duration { .zero }
  /// How many are asleep.
  public var sleeperCount: Int { mutex.withLock { unsafe sleepers.count } }

  /// Moves it, and wakes those whose time has come, the earliest first. A duration below zero counts as zero.
  public func advance(by duration: Duration) {
    let due = mutex.withLock { () -> [Sleeper] in
      unsafe time = time.advanced(by: max(.zero, duration))
      return takeDue()
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Moves it to the time of the next sleeper, and wakes that; false if there is none.
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

  /// Under the lock.
  private func takeDue() -> [Sleeper] {
    let due = unsafe sleepers.filter { unsafe $0.until <= time }.sorted(by: ManualClock.isBefore)
    unsafe sleepers.removeAll { unsafe $0.until <= time }
    return due
  }

  /// Returns when the clock has been moved that far; throws `CancellationError` if the task is cancelled before.
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
