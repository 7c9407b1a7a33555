import Eventing
import EventingTesting
import Testing

/// Tests of where an order by key applies, and of where its keys are made and compared.
@Suite(.fewAtATime) struct KeyPlaceTests {
  @Test(arguments: ["inOrder", "lane", "main, async", "restarting"])
  func whereCallsComeOneAtATimeTheOrderIsThatOfAllKeys(place: String) async {
    let (event, running, seen, gate) = (Event<Int>(), RunningCalls(), Recorder<Int>(), Gate())
    let body: @Sendable (Int) async throws -> Void = { payload in
      running.begin()
      seen.record(payload)
      if payload == 0 { await Task.detached { await gate.opened() }.value }  // ignores cancellation
      await Task.yield()
      running.end()
    }
    let handler: Handler<Int> =
      switch place {
      case "inOrder": Handler(on: .inOrder, perform: body)
      case "lane": Handler(on: .lane(HandlerLane()), perform: body)
      case "restarting": Handler(.cancellingPrevious, on: .inOrder, perform: body)
      default: Handler(on: .main) { payload async throws in try await body(payload) }
      }
    event.add(handler.with(.inOrder { $0 }))
    event.post(0)
    #expect(await eventually { seen.count == 1 })
    for payload in 1..<20 { event.post(payload) }
    for _ in 0..<200 { await Task.yield() }
    #expect(seen.values == [0])
    gate.open()
    await event.quiesce()
    #expect(seen.values == (place == "restarting" ? [0, 19] : Array(0..<20)) && running.most == 1)
  }

  @Test(arguments: ["background", "main"]) func synchronousHandlersOnALaneKeepTheOrderOfAllKeys(place: String) async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.add(RetryTests.handler(place) { seen.record($0) }.with(.inOrder { -$0 }))
    for payload in 0..<100 { event.post(payload) }
    await event.quiesce()
    #expect(seen.values == Array(0..<100))
  }

  #if DEBUG
    /// A key that posts whenever it is hashed or compared.
    private struct TalkativeKey: Hashable, Sendable {
      let number: Int
      let told: Event<Int>
      static func == (a: TalkativeKey, b: TalkativeKey) -> Bool {
        a.told.post(a.number)
        return a.number == b.number
      }
      func hash(into hasher: inout Hasher) {
        told.post(number)
        hasher.combine(number % 2)  // some different keys have equal hashes, so they are compared, too
      }
    }

    /// Checks that no mutex is held while keys are made, hashed and compared. Otherwise each post
    /// here would lock a second mutex, and a debug build would stop.
    @Test(arguments: [false, true]) func keysMayPostToAnyEvent(isBatched: Bool) async {
      if isBatched {
        await #expect(processExitsWith: .success) { await KeyPlaceTests.postFromKeys(isBatched: true) }
      } else {
        await #expect(processExitsWith: .success) { await KeyPlaceTests.postFromKeys(isBatched: false) }
      }
    }

    private static func postFromKeys(isBatched: Bool) async {
      endProcessIfItHangs()
      let (event, told, seen, keys) = (Event<Int>(), Event<Int>(), Recorder<Int>(), Counter())
      told.addHandler { _ in keys.add() }
      let key: @Sendable (Int) -> TalkativeKey = { payload in
        // A post to the event that is delivering `payload`.
        if payload < 100 { event.post(payload + 100) }
        return TalkativeKey(number: payload % 5, told: told)
      }
      if isBatched {
        event.batches(of: 3, by: key).addHandler(on: .concurrent(limit: 2)) { batch in
          for payload in batch { seen.record(payload) }
        }
      } else {
        event.add(
          Handler(.inOrder(by: key), on: .concurrent(limit: 2)) { payload async throws in seen.record(payload) })
      }
      for payload in 0..<100 { event.post(payload) }
      await event.quiesce()
      precondition(seen.values.sorted() == Array(0..<200) && keys.value > 200, "\(seen.count), \(keys.value)")
    }
  #endif
}
