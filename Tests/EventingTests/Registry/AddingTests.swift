import Eventing
import Synchronization
import Testing

/// Tests of guarantee G6: adding is effective on return.
@Suite(.fewAtATime) struct AddingTests {
  @Test func anAddedHandlerIsReachedByTheNextSendAndByNoneBefore() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.post(1)
    event.addHandler { seen.record($0) }
    event.post(2)
    #expect(seen.values == [2])
  }

  @Test func aHandlerAddedByAHandlerWaitsForTheNextOccurrence() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { [weak event] _ in event?.addHandler { seen.record($0) } }
    event.post(1)
    #expect(seen.values == [])
    event.post(2)
    #expect(seen.values == [2])
  }

  @Test func aHandlerAddedByAHandlerIsReachedByTheNextPostOfThatHandler() {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.once { [weak event] _ in
      event?.post(2)
      event?.addHandler { seen.record($0) }
      event?.post(3)
    }
    event.post(1)
    #expect(seen.values == [3])
  }

  @Test func addingToABusyEventIsInOrderWithThePostsAroundIt() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    await whileBusy(event) {
      event.post(2)
      event.addHandler { seen.record($0) }
      event.post(3)
    }
    await event.quiesce()
    #expect(seen.values == [3])
  }

  @Test func everyOccurrenceSentAfterAddingReachesTheHandlerAndNoneSentBeforeUnderRacingPosters() async {
    let event = Event<Int>()
    let begun = Atomic<Int>(0)
    let returned = Atomic<Int>(0)
    let adders = [Recorder<Membership>(), Recorder<Membership>()]
    let windows = [MembershipWindow(), MembershipWindow()]
    let overlaps = Overlaps()
    await onThreads(3, until: { overlaps.suffice(500) && adders.allSatisfy { $0.count > 200 } }) { thread, round in
      if thread == 2 {
        begun.store(round + 1, ordering: .sequentiallyConsistent)
        overlaps.during { event.post(round + 1) }
        returned.store(round + 1, ordering: .sequentiallyConsistent)
        return
      }
      let new = Membership()
      new.returnedBefore = returned.load(ordering: .sequentiallyConsistent)
      let token = overlaps.during { event.addHandler { new.see($0) } }
      new.begunAfter = begun.load(ordering: .sequentiallyConsistent)
      for _ in 0..<1_000 where new.first == 0 { giveWay() }
      let window = windows[thread]
      window.members.append((token, new))
      guard window.members.count > 4 else { return }
      let (oldest, its) = window.members.removeFirst()
      overlaps.during { _ = event.remove(oldest) }
      its.begunAfterRemoval = begun.load(ordering: .sequentiallyConsistent)
      adders[thread].record(its)
    }
    await event.quiesce()
    let all = adders.flatMap(\.values)
    #expect(all.count { !$0.isContiguous } == 0, "a handler missed an occurrence in the middle")
    #expect(
      all.count { $0.first != 0 && $0.first <= $0.returnedBefore } == 0, "reached by what was sent before it was added")
    #expect(
      all.count { $0.first > $0.begunAfter + 1 } == 0,
      "not reached by what was sent after it was added")
    #expect(all.count { $0.last > $0.begunAfterRemoval } == 0, "reached by what was sent after it was removed")
    #expect(all.count { $0.first != 0 } > 10)
    #expect(overlaps.count > 50)
  }

  @Test func postsOfAThreadAfterItAddedAHandlerReachTheHandlerUnderRacingPosters() async {
    let event = Event<Int>()
    let missed = Atomic<Int>(0)
    let early = Atomic<Int>(0)
    let overlaps = Overlaps()
    await onThreads(3, until: { overlaps.suffice(1_000) }) { thread, round in
      let own = Atomic<Int>(0)
      let (before, after) = (-3 * round - thread, 3 * round + thread + 1)
      overlaps.during { event.post(before) }
      let token = overlaps.during {
        event.addHandler { number in
          if number == before { early.wrappingAdd(1, ordering: .relaxed) }
          if number == after { own.wrappingAdd(1, ordering: .relaxed) }
        }
      }
      overlaps.during { event.post(after) }
      let deadline = ContinuousClock.now.advanced(by: .seconds(200))
      while own.load(ordering: .relaxed) == 0, ContinuousClock.now < deadline { giveWay() }
      if own.load(ordering: .relaxed) != 1 { missed.wrappingAdd(1, ordering: .relaxed) }
      event.remove(token)
    }
    #expect(missed.load(ordering: .relaxed) == 0)
    #expect(early.load(ordering: .relaxed) == 0)
    #expect(overlaps.count > 100)
  }

  @Test func everyOccurrenceReachesAGroupWholeOrNotAtAllUnderRacingPosters() async {
    let event = Event<Int>()
    let torn = Atomic<Int>(0)
    let overlaps = Overlaps()
    await onThreads(2, until: { overlaps.count > 200 }) { thread, round in
      guard thread == 0 else { return overlaps.during { event.post(round + 1) } }
      let group = (0..<3).map { _ in FirstSeen() }
      let tokens = overlaps.during { event.add(contentsOf: group.map { member in Handler { member.see($0) } }) }
      event.post(.max)  // reaches the group even if the other thread posts no more
      // The last member of the group is called last. When it has been called, all members have been
      // called.
      for _ in 0..<100_000 where group[2].number == 0 { giveWay() }
      if group[0].number != group[2].number || group[1].number != group[2].number {
        torn.wrappingAdd(1, ordering: .relaxed)
      }
      event.removeAll(where: .oneOf(tokens))
    }
    #expect(torn.load(ordering: .relaxed) == 0)
    #expect(overlaps.count > 20)
  }
}

/// The occurrences that a handler saw, and the occurrences between which it was registered.
///
/// One thread writes the three stored `var` properties. They are read after all threads have ended.
private final class Membership: @unchecked Sendable {
  private let firstSeen = Atomic<Int>(0)
  private let lastSeen = Atomic<Int>(0)
  private let calls = Atomic<Int>(0)
  var returnedBefore = 0
  var begunAfter = 0
  var begunAfterRemoval = 0

  func see(_ number: Int) {
    if first == 0 { firstSeen.store(number, ordering: .relaxed) }
    lastSeen.store(number, ordering: .relaxed)
    calls.wrappingAdd(1, ordering: .relaxed)
  }

  var first: Int { firstSeen.load(ordering: .relaxed) }
  var last: Int { lastSeen.load(ordering: .relaxed) }
  var count: Int { calls.load(ordering: .relaxed) }
  var isContiguous: Bool { first == 0 || count == last - first + 1 }
}

/// The handlers that a thread has added and not yet removed. Only that thread uses this list.
private final class MembershipWindow: @unchecked Sendable {
  var members: [(HandlerToken, Membership)] = []
}

/// The number of the first occurrence that a handler saw.
private final class FirstSeen: Sendable {
  private let first = Atomic<Int>(0)
  var number: Int { first.load(ordering: .relaxed) }
  func see(_ number: Int) { _ = first.compareExchange(expected: 0, desired: number, ordering: .relaxed) }
}
