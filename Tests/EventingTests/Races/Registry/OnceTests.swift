import Dispatch
import Eventing
import Synchronization
import Testing

/// Tests of guarantee G8: a once handler is called at most once.
@Suite(.fewAtATime) struct OnceTests {
  @Test func onceHandlerIsCalledByTheFirstSendOnly() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { seen.record($0) }
    #expect(await event.send(1).delivered == 1)
    let second = await event.send(2)
    #expect(second.delivered == 0)
    #expect(second.skipped == 0)
    #expect(seen.values == [1])
  }

  @Test func onceHandlerThatPostsIsNotCalledByItsOwnPost() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { [weak event] value in
      event?.post(value + 1)
      seen.record(value)
    }
    event.post(1)
    #expect(seen.values == [1])
  }

  @Test func onceHandlerIsUsedUpByACallThatThrows() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { value in
      seen.record(value)
      throw Refusal()
    }
    #expect(await event.send(1).failures.count == 1)
    let second = await event.send(2)
    #expect(second.failures.count == 0)
    #expect(second.delivered + second.skipped == 0)
    #expect(seen.values == [1])
  }

  @Test func onceHandlerIsNotUsedUpByASendThatSkippedIt() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token = event.once { seen.record($0) }
    event.lock(token)
    #expect(await event.send(1).skipped == 1)
    event.unlock(token)
    #expect(await event.send(2).delivered == 1)
    #expect(seen.values == [2])
  }

  @Test func onceHandlerOnALaneIsNotUsedUpByADeliveryThatTheLaneSkipped() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    let token = event.once(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    let first = event.submit(1)
    event.lock(token)
    queue.resume()
    #expect(await first.report.skipped == 1)
    event.unlock(token)
    #expect(await event.send(2).delivered == 1)
    #expect(seen.values == [2])
  }

  @Test func ofSeveralDeliveriesQueuedOnItsLaneTheFirstUsesAOnceHandlerUpAndTheOthersAreSkipped() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let queue = DispatchQueue(label: "test")
    event.once(on: .queue(queue)) { seen.record($0) }
    queue.suspend()
    let tickets = (1...3).map { event.submit($0) }
    queue.resume()
    #expect(await tickets[0].report.delivered == 1)
    for ticket in tickets.dropFirst() {
      #expect(await ticket.report.delivered == 0)
      #expect(await ticket.report.skipped == 1)
    }
    #expect(seen.values == [1])
  }

  @Test func onceHandlerHasEndedAsSoonAsItsCallBegins() {
    let event = Event<Int>()
    let own = ConditionLock<HandlerToken?>(nil)
    let found = Recorder<Bool>()
    own.withLock {
      $0 = event.once { [weak event] _ in
        guard let token = own.withLock({ $0 }), let event else { return }
        found.record(event.contains(token))
        found.record(event.remove(token))
        found.record(event.lock(token))
      }
    }
    event.post(1)
    #expect(found.values == [false, false, false])
    #expect(event.handlerCount == 0)
  }

  @Test func onceHandlerThatIsRemovedFirstIsNeverCalled() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let token = event.once { seen.record($0) }
    #expect(event.remove(token))
    #expect(await event.send(1).delivered == 0)
    #expect(seen.values == [])
  }

  @Test func onceHandlerAddedByAnyWayIsCalledOnce() async {
    let event = Event<Int>()
    let seen = Recorder<String>()
    let owner = Owned()
    event.once { _ in seen.record("inline") }
    event.once(.named("name"), .priority(3)) { _ in seen.record("named") }
    event.addHandler(.once, owner: owner) { _, _ in seen.record("owned") }
    event.addHandler(.once) { _ in seen.record("value") }
    event.occurrences.once { _ in seen.record("occurrence") }
    event.source.once { _ in seen.record("source") }
    event.once { _ async in seen.record("async") }
    event.once(on: .background) { _ in seen.record("background") }
    #expect(await event.send(1).delivered == 8)
    #expect(await event.send(2).delivered == 0)
    #expect(Set(seen.values).count == 8)
    #expect(seen.count == 8)
    withExtendedLifetime(owner) {}
  }

  @Test func onceHandlerIsCalledOnceUnderConcurrentSends() async {
    let event = Event<Int>()
    let calls = Recorder<CallCount>()
    let overlaps = Overlaps()
    await onThreads(3, until: { overlaps.suffice(1_000) && calls.count > 2_000 }) { thread, round in
      if thread == 0 {
        let count = CallCount()
        overlaps.during { _ = event.once { _ in count.add() } }
        calls.record(count)
      }
      overlaps.during { event.post(round) }
    }
    await event.send(0)
    #expect(calls.values.count { $0.value != 1 } == 0)
    #expect(event.handlerCount == 0)
    #expect(overlaps.count > 100)
  }

  @Test(arguments: LaneDelivery.allCases) func onceHandlerOnALaneIsCalledOnceUnderConcurrentSends(
    delivery: LaneDelivery
  ) async {
    let queue = DispatchQueue(label: "test", attributes: .concurrent)
    let overlaps = Overlaps()
    let all = Recorder<CountedEvent>()
    await inRounds(2, until: { overlaps.count > 100 }) {
      let counted = CountedEvent()
      counted.event.add(delivery.handler(queue) { [calls = counted.calls] in calls.add() }.with(.once))
      all.record(counted)
      return counted
    } _: { _, counted in
      for number in 0..<8 { overlaps.during { counted.event.post(number) } }
    }
    for counted in all.values { await counted.event.quiesce() }
    #expect(all.values.count { $0.calls.value != 1 } == 0)
    #expect(overlaps.count > 10)
  }

  @Test func everyOnceHandlerIsEitherCalledOrRemovedWhenBothRace() async {
    let overlaps = Overlaps()
    let all = Recorder<OnceOrRemoved>()
    await inRounds(2, until: { overlaps.count > 100 }) {
      let some = (0..<20).map { _ in OnceOrRemoved() }
      for one in some { all.record(one) }
      return some
    } _: { thread, some in
      for one in some { overlaps.during { if thread == 0 { one.event.post(1) } else { one.remove() } } }
    }
    #expect(all.values.count { $0.calls.value != ($0.isRemoved ? 0 : 1) } == 0)
    #expect(overlaps.count > 10)
  }
}

#if DEBUG
  extension SyncPointTests {
    @Test func onceHandlerRemovedJustBeforeItsClaimIsNotCalled() async {
      let event = Event<Int>()
      let seen = Recorder<Int>()
      let hold = Hold(at: .claiming)
      let token = event.once { seen.record($0) }
      let poster = startThread { hold.during { event.post(1) } }
      await hold.reached.opened()
      #expect(event.remove(token))
      hold.release()
      await poster.opened()
      #expect(seen.values == [])
    }

    @Test func onceHandlerLockedJustBeforeItsClaimIsNotCalledAndNotUsedUp() async {
      let event = Event<Int>()
      let seen = Recorder<Int>()
      let hold = Hold(at: .claiming)
      let token = event.once { seen.record($0) }
      let poster = startThread { hold.during { event.post(1) } }
      await hold.reached.opened()
      #expect(event.lock(token))
      hold.release()
      await poster.opened()
      #expect(seen.values == [])
      event.unlock(token)
      event.post(2)
      #expect(seen.values == [2])
    }
  }
#endif

private struct Refusal: Error {}

private final class Owned: Sendable {}

private final class CallCount: Sendable {
  private let calls = Atomic<Int>(0)
  var value: Int { calls.load(ordering: .relaxed) }
  func add() { calls.wrappingAdd(1, ordering: .relaxed) }
}

private struct CountedEvent: Sendable {
  let event = Event<Int>()
  let calls = CallCount()
}

/// An event with one once handler, which a thread may remove.
///
/// One thread writes `isRemoved`. It is read after that thread has ended.
private final class OnceOrRemoved: @unchecked Sendable {
  let event = Event<Int>()
  let calls = CallCount()
  private let token: HandlerToken
  private(set) var isRemoved = false

  init() { token = event.once { [calls] _ in calls.add() } }

  func remove() { isRemoved = event.remove(token) }
}
