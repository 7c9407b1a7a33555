import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H7 of PROOF.md: calls for equal keys come in order, one at a time.
@Suite(.fewAtATime) struct KeyOrderTests {
  @Test func callsOfEqualKeysComeInOrderAndDifferentKeysOverlap() async {
    let (event, gates, seen) = (Event<Int>(), [Gate(), Gate(), Gate()], Recorder<Int>())
    event.add(
      Handler(.inOrder { $0 % 3 }, on: .concurrent(limit: 2)) { payload async throws in
        await gates[payload % 3].opened()
        seen.record(payload)
      })
    for payload in 0..<9 { event.post(payload) }
    gates[1].open()
    gates[2].open()
    // Key 0 keeps one slot. The other slot serves the other keys.
    #expect(await eventually { seen.count == 6 })
    #expect(seen.values == [1, 2, 4, 5, 7, 8])
    gates[0].open()
    await event.quiesce()
    for key in 0..<3 { #expect(seen.values.filter { $0 % 3 == key } == [key, key + 3, key + 6]) }
  }

  @Test func manyKeysOverlapUpToTheLimitAndNoKeyWithItself() async {
    let (event, all) = (Event<Int>(), RunningCalls())
    let own = (0..<50).map { _ in RunningCalls() }
    let seen = Recorder<Int>()
    event.add(
      Handler(.inOrder { $0 % 50 }, on: .concurrent(limit: 4)) { payload async throws in
        all.begin()
        own[payload % 50].begin()
        seen.record(payload)
        await Task.yield()
        own[payload % 50].end()
        all.end()
      })
    await onThreads(4) { thread in for round in 0..<500 { event.post(thread + 4 * round) } }
    await event.quiesce()
    #expect(seen.count == 2_000 && own.allSatisfy { $0.most <= 1 } && all.most <= 4)
  }

  @Test func theKeysOfABurstAreForgotten() async {
    struct Key: Hashable, Sendable {
      let canary: Canary; let number: Int
      static func == (a: Key, b: Key) -> Bool { a.number == b.number }
      func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }
    let (event, live, seen) = (Event<Int>(), LiveCount(), Recorder<Int>())
    event.add(
      Handler(.inOrder { Key(canary: Canary(live), number: $0) }, on: .concurrent(limit: 4)) { payload async throws in
        seen.record(payload)
      })
    for payload in 0..<5_000 { event.post(payload) }
    await event.quiesce()
    #expect(seen.count == 5_000)
    #expect(await eventually { live.alive <= 1_024 })
  }

  @Test func boundsAreOverAllKeys() async {
    let (event, begun, gate, seen) = (Event<Int>(), Gate(), Gate(), Recorder<Int>())
    event.add(
      Handler(.buffering(.newest(2)), .inOrder { $0 }, on: .concurrent(limit: 1)) { payload async throws in
        begun.open()
        await gate.opened()
        seen.record(payload)
      })
    event.post(0)
    await begun.opened()
    let dropped = event.submit(1)
    for payload in 2...3 { event.post(payload) }
    let report = await dropped.report
    #expect(report.dropped == 1)
    gate.open()
    await event.quiesce()
    #expect(seen.values == [0, 2, 3])
  }

  @Test func aCallThatSendsToItsOwnKeyDoesNotWaitForItself() async {
    let (event, reports) = (Event<Int>(), Recorder<Int>())
    event.add(
      Handler(.inOrder { $0 % 2 }, on: .concurrent(limit: 4)) { payload async throws in
        if payload == 0 { reports.record(await event.send(2).deferred) }
        if payload == 0 { reports.record(await event.send(1).deferred) }
      })
    _ = await event.send(0)
    await event.quiesce()
    #expect(reports.values == [1, 0])
  }
}
