import Eventing
import EventingTesting
import EventingTransport
import Testing

/// R3 and R11: handlers that end while their calls wait, an interceptor that stops messages, and a
/// listening that ends by `drain(within:)`.
extension AcknowledgementTests {
  private final class Owner: Sendable {}

  enum Ending: CaseIterable, Sendable { case removal, use, owner }

  /// The handler ends while its first call runs and its other calls wait on the lane. Their
  /// messages come again at once, as first attempts, for the handler that is added next.
  @Test(arguments: Ending.allCases) func callsOfAHandlerThatHasEndedComeAgain(ending: Ending) throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (notes, again) = (Notes<Int>(), Notes<Int>())
      let owner = Guarded<Owner?>(Owner())
      @Sendable func handle(_ number: Int) async {
        notes.note(number)
        try? await clock.sleep(for: .seconds(1))
      }
      // A function of its own, so that no variable keeps the owner.
      func releaseOwner() {
        _ = owner.withLock { owner in
          defer { owner = nil }
          return owner
        }
      }
      func addOwnedHandler() {
        guard let owner = owner.withLock({ $0 }) else { return }
        event.addHandler(owner: owner) { _, number async in await handle(number) }
      }
      var token: HandlerToken?
      switch ending {
      case .removal: token = event.addHandler { number async in await handle(number) }
      case .use: event.addHandler(.once) { number async in await handle(number) }
      case .owner: addOwnedHandler()
      }
      for number in 1...3 { try await event.publish(number) }
      try await event.listen(
        as: "one", startingAt: .first, retry: .immediately(attempts: 1), deadLetter: "dead")
      try await clock.sleep(for: .milliseconds(100))
      if let token { event.remove(token) }
      releaseOwner()
      try await clock.sleep(for: .seconds(10))
      try require(again.values == [], "\(again.values)")
      event.remoteOccurrences.addHandler { again.note($0.payload * 10 + $0.attempt) }
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [1], "\(notes.values)")
      try require(again.values == [21, 31], "\(again.values)")
    }
  }

  /// One handler ends, and another one handles the messages: they are done.
  @Test func whatAnotherHandlerHasHandledDoesNotComeAgain() throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (ended, other) = (Notes<Int>(), Notes<Int>())
      let token = event.addHandler { number async in
        ended.note(number)
        try? await clock.sleep(for: .seconds(1))
      }
      event.addHandler { other.note($0) }
      try await event.listen(as: "one")
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .milliseconds(100))
      event.remove(token)
      try await clock.sleep(for: .seconds(10))
      try require(ended.values == [1] && other.values == [1, 2, 3], "\(ended.values) \(other.values)")
    }
  }

  /// An interceptor has not handled what it lets pass to a handler that has ended.
  @Test func anInterceptorDoesNotHandleForAHandlerThatHasEnded() throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      event.intercept(.priority(1)) { _ in .proceed }
      event.once { number async in notes.note(number) }
      for number in 1...2 { try await event.publish(number) }
      try await event.listen(as: "one", startingAt: .first)
      try await clock.sleep(for: .milliseconds(50))
      event.once { number async in notes.note(-number) }
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1, -2], "\(notes.values)")
    }
  }

  enum BehindBatches: CaseIterable, Sendable { case filter, failure, removal, forward, forwardThatFails }

  /// A view or a forward behind batches decides about each message of the batch.
  @Test(arguments: BehindBatches.allCases) func batchesAreHandledByWhatStandsBehindThem(_ behind: BehindBatches) throws
  {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (target, notes, again) = (Event<[Int]>(), Notes<[Int]>(), Notes<Int>())
      let batches = event.batches(of: 2, within: .seconds(1), clock: clock)
      var token: HandlerToken?
      switch behind {
      case .filter: batches.filter { !$0.contains(1) }.addHandler { notes.note($0) }
      case .failure:
        batches.map { $0 }.addHandler { batch throws in
          notes.note(batch)
          if batch == [1, 2] { throw Refused() }
        }
      case .removal:
        token = batches.map { $0 }.addHandler { batch async in
          notes.note(batch)
          try? await clock.sleep(for: .seconds(1))
        }
      case .forward, .forwardThatFails:
        batches.forward(to: target)
        target.addHandler { batch async throws in
          try await clock.sleep(for: .seconds(1))
          notes.note(batch)
          if behind == .forwardThatFails, batch == [1, 2] { throw Refused() }
        }
      }
      for number in 1...4 { try await event.publish(number) }
      try await event.listen(as: "one", startingAt: .first, retry: .immediately(attempts: 2))
      try await clock.sleep(for: .milliseconds(100))
      if let token { event.remove(token) }
      try await clock.sleep(for: .seconds(100))
      event.removeAll()
      event.remoteOccurrences.addHandler { again.note($0.payload) }
      try await clock.sleep(for: .seconds(10))
      switch behind {
      case .filter: try require(notes.values == [[3, 4]] && again.values == [], "\(notes.values) \(again.values)")
      case .failure, .forwardThatFails:
        try require(notes.values.filter { $0.contains(1) }.count > 1 && again.values == [], "\(notes.values)")
      case .removal: try require(notes.values == [[1, 2]] && again.values == [3, 4], "\(again.values)")
      case .forward: try require(notes.values == [[1, 2], [3, 4]] && again.values == [], "\(notes.values)")
      }
    }
  }

  /// What a newer batch of its key replaces is done.
  @Test func aBatchThatANewerOneReplacesDoesNotComeAgain() throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (begun, ended) = (Notes<Int>(), Notes<Int>())
      event.batches(of: 1, by: { $0 }).map { $0[0] }.addHandler(.cancellingPrevious, on: .concurrent(limit: 4)) {
        begun.note($0)
        try await clock.sleep(for: .milliseconds(400))
        ended.note($0)
      }
      try await event.publish(1)
      try await event.listen(as: "one", startingAt: .first)
      try await clock.sleep(for: .milliseconds(100))
      try await event.publish(2)
      try await clock.sleep(for: .seconds(100))
      try require(begun.values == [1, 2] && ended.values == [2], "\(begun.values) \(ended.values)")
    }
  }

  enum Pace: CaseIterable, Sendable { case debounced, throttled, restarting, latest, latestOnALane }

  /// Checks that a message does not come again if a newer one has replaced it by the handler's own
  /// wish.
  @Test(arguments: Pace.allCases) func whatANewerPayloadReplacesIsDone(pace: Pace) throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (begun, ended) = (Notes<Int>(), Notes<Int>())
      @Sendable func handle(_ number: Int) async throws {
        begun.note(number)
        try await clock.sleep(for: .milliseconds(300))
        ended.note(number)
      }
      switch pace {
      case .debounced: event.addHandler(.debounced(for: .milliseconds(300), clock: clock)) { try await handle($0) }
      case .throttled: event.addHandler(.throttled(every: .milliseconds(300), clock: clock)) { try await handle($0) }
      case .restarting: event.addHandler(.cancellingPrevious) { try await handle($0) }
      case .latest: event.addHandler(.buffering(.latest), on: .inOrder) { try await handle($0) }
      case .latestOnALane: event.addHandler(.buffering(.latest), on: .lane(HandlerLane())) { try await handle($0) }
      }
      for number in 1...4 { try await event.publish(number) }
      try await event.listen(as: "one", startingAt: .first, retry: .immediately(attempts: 1), deadLetter: "dead")
      try await clock.sleep(for: .seconds(100))
      try require(ended.values.last == 4 && begun.count <= 2, "\(begun.values) \(ended.values)")
    }
  }

  /// The handler that ends stands behind a forward.
  @Test func callsBehindAForwardComeAgain() throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (local, notes, again) = (Event<Int>("local"), Notes<Int>(), Notes<Int>())
      event.forward(to: local)
      let token = local.filter { $0 != 2 }.addHandler { number async in
        notes.note(number)
        try? await clock.sleep(for: .seconds(1))
      }
      try await event.listen(as: "one")
      for number in 1...3 { try await event.publish(number) }
      try await clock.sleep(for: .milliseconds(100))
      local.addHandler { again.note($0) }
      local.remove(token)
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [1] && again.values == [3], "\(notes.values) \(again.values)")
    }
  }

  @Test func anInterceptorThatStopsHasHandledTheMessage() throws {
    try simulate(1...20) { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (seen, notes) = (Notes<Int>(), Notes<Int>())
      event.intercept(.priority(1)) { number in
        seen.note(number)
        return number % 2 == 0 ? .proceed : .stop
      }
      event.addHandler { notes.note($0) }
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      for number in 1...4 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(100))
      try require(seen.values == [1, 2, 3, 4] && notes.values == [2, 4], "\(seen.values) \(notes.values)")
    }
  }

  /// R11: a listening ends by `drain(within:)`. Calls that still wait on the handler's lane when
  /// the time limit of the drain has passed run nevertheless, and another member gets their
  /// messages, too.
  @Test func callsThatWaitWhenADrainEndsRunNevertheless() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (event, other) = (RemoteEvent<Int>("numbers", over: bus), RemoteEvent<Int>("numbers", over: bus))
      let (handled, given) = (Notes<Int>(), Notes<Int>())
      event.addHandler { number async in
        try? await clock.sleep(for: .seconds(1))
        handled.note(number)
      }
      other.addHandler { given.note($0) }
      let listening = try await event.listen(as: "one")
      for number in 1...4 { try await event.publish(number) }
      try await clock.sleep(for: .milliseconds(100))
      await listening.drain(within: .milliseconds(1_500))
      try require(handled.values == [1] && clock.now.offset == .milliseconds(1_600), "\(handled.values), \(clock.now)")
      try await other.listen(as: "one")
      try await clock.sleep(for: .seconds(10))
      try require(given.values == [2, 3, 4] && handled.values == [1, 2, 3, 4], "\(given.values) \(handled.values)")
    }
  }
}
