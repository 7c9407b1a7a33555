import Eventing
import EventingTesting

/// A clock on which no task can sleep.
final class BrokenClock: Clock, Sendable {
  typealias Instant = ContinuousClock.Instant
  struct Broken: Error {}
  let sleeps = Counter()

  var now: Instant { .now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    sleeps.add()
    throw Broken()
  }
}

/// A clock whose first sleeps end too early.
final class HastyClock: Clock, Sendable {
  typealias Instant = ManualClock.Instant
  let base = ManualClock()
  let sleeps = Counter()
  let early: Int

  /// Creates a clock.
  ///
  /// - Parameter early: The number of sleeps that end at once.
  init(early: Int) { self.early = early }

  var now: Instant { base.now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    sleeps.add()
    if sleeps.value > early { try await base.sleep(until: deadline) }
  }
}

/// A clock that is a value: two clocks with one base are equal.
struct ValueClock: Clock, Hashable {
  typealias Instant = ManualClock.Instant
  let base: ManualClock

  var now: Instant { base.now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws { try await base.sleep(until: deadline) }

  static func == (a: ValueClock, b: ValueClock) -> Bool { a.base === b.base }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(base)) }
}

/// A clock whose instants add a handler to an event whenever they are compared. Adding a handler
/// locks the event's mutex, so no thread may compare instants while it holds another mutex.
final class TalkativeClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    let base: ManualClock.Instant
    let compared: Event<Int>

    func advanced(by duration: Duration) -> Instant { Instant(base: base.advanced(by: duration), compared: compared) }
    func duration(to other: Instant) -> Duration { base.duration(to: other.base) }
    static func < (a: Instant, b: Instant) -> Bool {
      a.compared.addHandler { _ in }
      return a.base < b.base
    }
    static func == (a: Instant, b: Instant) -> Bool {
      a.compared.addHandler { _ in }
      return a.base == b.base
    }
    func hash(into hasher: inout Hasher) { hasher.combine(base) }
  }

  let base = ManualClock()
  let compared = Event<Int>()

  var now: Instant { Instant(base: base.now, compared: compared) }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws { try await base.sleep(until: deadline.base) }
}

/// A clock that measures real time, but is not one of the standard clocks.
final class RealClock: Clock, Sendable {
  typealias Instant = ContinuousClock.Instant

  var now: Instant { .now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
  }
}
