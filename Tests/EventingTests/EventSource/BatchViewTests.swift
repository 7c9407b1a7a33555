import Eventing
import EventingTesting
import Testing

/// Tests of batches as a view: what stands behind it runs with the call, and the handler belongs to
/// the event like any other.
@Suite(.fewAtATime) struct BatchViewTests {
  struct Refused: Error {}

  @Test func viewsBehindBatchesRunWithTheCall() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    let batches = event.batches(of: 3, within: .seconds(1_000))
    let token = batches.map(\.count).filter { $0 > 1 }.addHandler(.named("count"), on: .background) { seen.record($0) }
    for number in 1...2 { event.post(number) }
    #expect(seen.values.isEmpty)
    let report = await event.send(3)
    #expect((report.delivered, seen.values) == (1, [3]))
    event.post(4)  // a batch of one, which the filter leaves out
    await event.quiesce()
    #expect(seen.values == [3])
    #expect(await event.handlers().map(\.name) == ["count"])
    #expect(event.remove(token) && event.handlerCount == 0)
    for number in 1...3 { event.post(number) }
    await event.quiesce()
    #expect(seen.values == [3])
  }

  /// The handler behind the view throws; each payload of its batch has failed, and has a letter.
  @Test func aFailureBehindAViewIsOneOfTheBatch() async {
    let (event, letters, attempts) = (Event<Int>(), Recorder<Int>(), Counter())
    event.deadLetters.addHandler { letters.record($0.payload) }
    event.batches(of: 2, within: .seconds(1_000)).map(\.count).addHandler(
      .retrying(.immediately(attempts: 3))
    ) { _ async throws in
      attempts.add()
      throw Refused()
    }
    event.post(1)
    let report = await event.send(2)
    #expect(report.failures.count == 1 && report.failures.first?.error is Refused)
    await event.quiesce()
    #expect((letters.values, attempts.value) == ([1, 2], 3))
  }

  @Test func batchesAreForwarded() async {
    let (event, target, seen) = (Event<Int>(), Event<[Int]>(), Recorder<[Int]>())
    target.addHandler { seen.record($0) }
    event.batches(of: 2, within: .seconds(1_000)).forward(to: target)
    #expect(event.contains(where: .forwarding(to: target)))
    for number in 1...4 { event.post(number) }
    await event.quiesce()
    #expect(seen.values == [[1, 2], [3, 4]])
    #expect(event.removeAll(where: .forwarding(to: target)) == 1)
  }

  @Test func aSequenceWithATimeToGatherHasBatches() async {
    let (event, clock) = (Event<Int>(), ManualClock())
    let batches = event.batches(of: 2, within: .seconds(1), clock: clock).payloads()
    let keyed = event.batches(of: 2) { $0 % 2 }.payloads()
    for number in 1...3 { event.post(number) }
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    await event.quiesce()
    event.finish()
    var (seen, ofKeys): ([[Int]], [[Int]]) = ([], [])
    for await batch in batches { seen.append(batch) }
    for await batch in keyed { ofKeys.append(batch) }
    #expect(seen == [[1, 2], [3]])
    #expect(ofKeys.allSatisfy { $0.allSatisfy { [first = $0[0]] in $0 % 2 == first % 2 } })
    #expect(ofKeys.flatMap(\.self).sorted() == [1, 2, 3])
  }

  @Test func batchesOfBatchesAreArraysOfArrays() async {
    let (event, seen) = (Event<Int>(), Recorder<[[Int]]>())
    let nested = event.batches(of: 2).batches(of: 2)
    let payloads = nested.payloads()
    nested.addHandler { seen.record($0) }
    for number in 1...4 { event.post(number) }
    await event.quiesce()
    event.finish()
    var looped: [Int] = []
    for await batch in payloads { looped += batch.flatMap(\.self) }
    #expect(looped == [1, 2, 3, 4])
    #expect(seen.values.joined().joined().map(\.self) == [1, 2, 3, 4])
  }

  @Test func batchesOfDifferentKeysOverlapBehindAView() async {
    let (event, running, gate) = (Event<Int>(), Counter(), Gate())
    event.batches(of: 1) { $0 }.map { $0[0] }.addHandler(on: .concurrent(limit: 2)) { _ async in
      running.add()
      await gate.opened()
    }
    for number in 1...2 { event.post(number) }
    #expect(await eventually { running.value == 2 })
    gate.open()
    await event.quiesce()
  }

  /// A handler takes its batches where it is added to run, and in the forms that others have.
  @Test func everyKindOfHandlerTakesBatches() async {
    final class Store: Sendable { let rows = Recorder<[Int]>() }
    actor Database {
      let rows = Recorder<[Int]>()
      func insert(_ batch: [Int]) { rows.record(batch) }
    }
    let (event, store, database, seen) = (Event<Int>(), Store(), Database(), Recorder<[Int]>())
    let batches = event.batches(of: 2, within: .seconds(1_000))
    batches.addHandler { seen.record($0) }
    batches.addHandler(on: .task) { batch async in seen.record(batch) }
    batches.addHandler(on: .main) { seen.record($0) }
    batches.addHandler(owner: store) { store, batch in store.rows.record(batch) }
    batches.addHandler(.retrying(.immediately(attempts: 2)), isolatedTo: database) { $0.insert($1) }
    batches.once { seen.record($0) }
    for number in 1...4 { event.post(number) }
    await event.quiesce()
    #expect(store.rows.values == [[1, 2], [3, 4]] && database.rows.values == [[1, 2], [3, 4]])
    #expect(seen.values.filter { $0 == [1, 2] }.count == 4 && seen.values.filter { $0 == [3, 4] }.count == 3)
    #expect(event.handlerCount == 5)
  }

  /// G23: a path leads through the batch.
  @Test func aCycleOverBatchesEnds() async {
    let (event, target, seen) = (Event<Int>(), Event<[Int]>(), Recorder<Int>())
    event.addHandler { seen.record($0) }
    event.batches(of: 2).forward(to: target)
    target.map(\.count).forward(to: event)
    await event.send(5)
    await event.quiesce()
    #expect(seen.values == [5])
  }

  /// G7: a batch has begun when its handler is removed on the actor where that handler runs.
  @MainActor @Test(arguments: [false, true]) func aRemovalHoldsForABatchThatHasBegun(isOnce: Bool) async {
    let (event, seen, gate) = (Event<Int>(), Counter(), Gate())
    let views = event.batches(of: 2).map { batch in
      gate.open()
      return batch
    }
    let token =
      isOnce
      ? views.once(on: .main) { _ in seen.add() } : views.addHandler(on: .main) { _ in seen.add() }
    func removeAfterBegin() {
      gate.wait()  // the view has run, and the main actor is here
      token.remove()
    }
    event.post(1)
    removeAfterBegin()
    await event.quiesce()
    #expect(seen.value == 0)
  }

  /// Only what has come through the target is cut off, and not what shares a batch with it.
  @Test func aFreshPayloadIsForwardedWithOneThatCameThroughTheTarget() async {
    let (event, target, seen) = (Event<Int>(), Event<Int>(), Recorder<Int>())
    target.addHandler { seen.record($0) }
    target.forward(to: event)
    event.batches(of: 2, within: .seconds(1_000)).map { $0.reduce(0, +) }.forward(to: target)
    target.post(1)
    await event.send(20)
    #expect(seen.values == [1, 21])
  }

  /// G23: the path stays with what a lock holds.
  @Test func aHeldBatchKeepsItsPath() async {
    let (first, second, seen) = (Event<Int>(), Event<Int>(), Recorder<Int>())
    first.addHandler { seen.record($0) }
    first.forward(to: second)
    let token = second.batches(of: 1).map { $0[0] }.forward(to: first)
    second.lock(token, holding: .unbounded)
    first.post(1)
    second.unlock(token)
    for event in [first, second] { await event.quiesce() }
    #expect(seen.values == [1])
  }

  @Test(arguments: [false, true]) func noAttemptFollowsTheRemoval(isInline: Bool) async {
    let (event, attempts, token) = (Event<Int>(), Counter(), Guarded<HandlerToken?>(nil))
    let views = event.batches(of: 1, within: .seconds(1_000)).map { $0[0] }
    let attempt: @Sendable () throws -> Void = {
      attempts.add()
      token.withLock { $0 }?.remove()
      throw Refused()
    }
    let retried = HandlerOption<Int>.retrying(.immediately(attempts: 4))
    let added =
      isInline
      ? views.addHandler(retried) { _ in try attempt() } : views.addHandler(retried) { _ async throws in try attempt() }
    token.withLock { $0 = added }
    await event.send(1)
    #expect(attempts.value == 1)
  }

  @Test func aFailureCountsItsAttempts() async {
    let event = Event<Int>()
    event.batches(of: 1).map { $0[0] }.addHandler(.retrying(.immediately(attempts: 3))) { _ async throws in
      throw Refused()
    }
    #expect(await event.send(1).failures.first?.attempts == 3)
  }

  /// The calls of a handler behind batches are counted once.
  @Test func aViewThatLeavesABatchOutCountsNoSkipBesideTheCall() async {
    let event = Event<Int>()
    event.batches(of: 1).filter { _ in false }.addHandler { _ in }
    #expect(await event.send(1).skipped == 1)
    let snapshot = await event.handlers()[0]
    #expect((snapshot.callCount, snapshot.skippedCount) == (1, 0))
  }

  @Test func aLoopOverBatchesOfABusOutlivesOneOfItsEvents() async {
    let bus = EventBus()
    let batches = bus.all(as: (any Numbered).self).batches(of: 1).map { $0[0].number }.payloads()
    await bus.send(First(number: 1))
    bus.event(for: First.self).finish()
    await bus.send(Second(number: 2))
    var seen: [Int] = []
    for await number in batches {
      seen.append(number)
      if number == 2 { break }
    }
    #expect(seen == [1, 2])
  }
  private protocol Numbered: Sendable { var number: Int { get } }
  private struct First: Numbered { let number: Int }
  private struct Second: Numbered { let number: Int }

  /// A once handler of a bus has ended in all events before its batch reaches it.
  @Test func aOnceHandlerOfABusTakesItsBatch() async {
    let (bus, attempts) = (EventBus(), Counter())
    bus.all(as: Int.self).batches(of: 1).map { $0[0] }.once(.retrying(.immediately(attempts: 3))) { _ async throws in
      attempts.add()
      throw Refused()
    }
    for number in 1...2 { await bus.send(number) }
    #expect(attempts.value == 3)
  }

  @Test func aLoopOverABusMakesNoSenderWait() async {
    let bus = EventBus()
    let loop = bus.all(as: Int.self).payloads(buffering: .suspendingSender(1))
    let event = bus.event(for: Int.self)
    for number in 1...3 { await event.send(number) }
    bus.finish()
    var seen: [Int] = []
    for await number in loop { seen.append(number) }
    #expect(seen == [1])
  }

  /// A value that is added twice is two handlers.
  @Test func aHandlerValueBehindBatchesIsAddedTwice() async {
    let (event, seen) = (Event<Int>(), Counter())
    let handler = Handler<[Int]> { _ in seen.add() }
    let batches = event.batches(of: 2).batches(of: 1)
    let tokens = (0..<2).map { _ in batches.map { $0[0] }.add(handler) }
    tokens[0].remove()
    await event.send(1)
    #expect(seen.value == 1)
  }

  @Test func theHandlerBehindAViewEndsWithItsOwnerAndItsEvent() async {
    let live = LiveCount()
    do {
      let event = Event<Int>()
      var owner: Canary? = Canary(live)
      let captured = Canary(live)
      if let owner {
        event.batches(of: 2).map(\.count).addHandler(owner: owner) { owner, _ in owner.sing() }
      }
      event.batches(of: 2).map(\.count).addHandler { _ in captured.sing() }
      await event.send(1)
      owner = nil
      await event.send(2)
      #expect(event.handlerCount == 1)
    }
    #expect(await eventually { live.alive == 0 })
  }
}
