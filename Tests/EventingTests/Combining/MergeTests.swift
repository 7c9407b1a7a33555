import Eventing
import EventingTesting
import Testing

/// Tests of merged sources: one handler, one token and one lane for all of them.
@Suite(.fewAtATime) struct MergeTests {
  @Test(arguments: SerialKind.allCases) func aHandlerGetsThePayloadsOfEachSourceInItsOrder(kind: SerialKind) async {
    let (first, second, rooms) = (Event<Int>(), Event<Int>(), KeyedEvent<Int, Int>())
    let seen = Recorder<Int>()
    let all = Event<Int>()
    add(kind, to: all) { seen.record($0) }
    first.merge(second.filter { $0 > 0 }, rooms[7]).forward(to: all)
    await onThreads(2) { index in
      for number in 1...100 {
        if index == 0 { first.post(number) } else { second.post(1_000 + number) }
      }
    }
    #expect(await rooms.send(5_000, to: 7).delivered == 1)
    for event in [first, second, all] { await event.quiesce() }
    #expect(seen.values.filter { $0 < 1_000 } == Array(1...100))
    #expect(seen.values.filter { (1_000..<5_000).contains($0) } == (1...100).map { 1_000 + $0 })
    #expect(seen.values.filter { $0 == 5_000 }.count == 1)
  }

  @Test func theTokenAndTheViewRemoveTheHandlerFromAllSources() async {
    let (first, second, seen, live) = (Event<Int>(), Event<Int>(), Recorder<Int>(), LiveCount())
    let merged = first.merge(second)
    var canary: Canary? = Canary(live)
    let one = merged.addHandler { [canary] number in
      canary?.sing()
      seen.record(number)
    }
    canary = nil
    let other = merged.addHandler(on: .background) { _ in }
    #expect(!first.merge(second).remove(one))
    #expect(merged.remove(one) && !merged.remove(one))
    #expect(other.remove())
    #expect(await eventually { first.handlerCount == 0 && second.handlerCount == 0 && live.alive == 0 })
    await first.send(1)
    #expect(seen.values.isEmpty)
  }

  @Test func aPaceALimitAndAnOnceHandlerCountAllSourcesTogether() async {
    let (first, second, clock) = (Event<Int>(), Event<Int>(), ManualClock())
    let (paced, once) = (Recorder<Int>(), Recorder<Int>())
    first.merge(second).addHandler(.debounced(for: .seconds(1), clock: clock)) { paced.record($0) }
    first.merge(second).once { once.record($0) }
    first.post(1)
    second.post(2)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(await eventually { paced.count == 1 })
    #expect((paced.values, once.values) == ([2], [1]))
  }

  /// Of all views of several sources, whichever source brought the payload.
  @Test func errorsOfAHandlerAreFailuresOfTheFirstSource() async throws {
    struct Refusal: Error {}
    let (first, second, value, other) = (Event<Int>("first"), Event<Int>("second"), Observed(0), Observed(0))
    let (failures, others) = (EventRecorder(first.failures), EventRecorder(second.failures))
    let (values, otherValues) = (EventRecorder(value.failures), EventRecorder(other.failures))
    let merged = first.filter { $0 >= 0 }.merge(second)
    let inline = merged.addHandler { _ in throw Refusal() }
    let retried = merged.addHandler(.retrying(.immediately(attempts: 2))) { (_: Int) async throws in throw Refusal() }
    await first.send(1)
    await second.send(2)
    let found = try await failures.expect(4, within: .seconds(120))
    #expect(Set(found.map(\.handler)) == [inline, retried])
    #expect(found.filter { $0.attempts == 2 }.count == 2)
    let nested = merged.merge(second).combineLatest(second).addHandler { _ in throw Refusal() }
    merged.remove(inline)
    merged.remove(retried)
    await first.send(3)
    await second.send(4)
    #expect(try await failures.expect(1, within: .seconds(120)).map(\.handler) == [nested])
    let pair = value.combineLatest(other).addHandler { _ in throw Refusal() }
    other.value = 5
    // The first values, and the new ones.
    #expect(try await values.expect(2, within: .seconds(120)).allSatisfy { $0.handler == pair })
    // Also of a payload that comes while the handler is added.
    let early = value.merge(other).addHandler { _ in throw Refusal() }
    #expect(try await values.expect(2, within: .seconds(120)).allSatisfy { $0.handler == early })
    let latest = value.combineLatest(first).addHandler { _ in throw Refusal() }
    first.post(6)
    #expect(try await values.expect(1, within: .seconds(120)).map(\.handler) == [latest])
    #expect(others.payloads.isEmpty && otherValues.payloads.isEmpty)
  }

  @Test func thePolicyOfTheFirstSourceRemovesAHandlerThatFails() async {
    struct Refusal: Error {}
    let first = Event<Int>(onFailure: .removeHandler(afterFailures: 2))
    let (second, calls) = (Event<Int>(), Recorder<Int>())
    first.merge(second).addHandler { number in
      calls.record(number)
      throw Refusal()
    }
    for number in 1...4 { await (number.isMultiple(of: 2) ? first : second).send(number) }
    #expect(calls.values == [1, 2])
    #expect(await eventually { first.handlerCount == 0 && second.handlerCount == 0 })
  }

  @Test func aSequenceEndsWhenAllSourcesHaveEnded() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let payloads = first.merge(second).payloads()
    first.post(1)
    first.finish()
    second.post(2)
    second.finish()
    var seen: [Int] = []
    for await number in payloads { seen.append(number) }
    #expect(seen == [1, 2])
  }

  @Test func theHandlerDoesNotKeepItsSourcesAlive() async {
    let live = LiveCount()
    let ends: Task<[Int], Never>
    do {
      let (first, second) = (Event<Int>(), Event<Int>())
      let canary = Canary(live)
      first.addHandler { _ in canary.sing() }
      let payloads = first.merge(second).payloads()
      ends = Task {
        var seen: [Int] = []
        for await number in payloads { seen.append(number) }
        return seen
      }
      second.post(1)
    }
    #expect(await ends.value == [1])
    #expect(await eventually { live.alive == 0 })
  }
}
