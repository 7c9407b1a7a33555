import EventingTesting
import Foundation
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of the waits that polls see.
@Suite(.serialized) struct WaitTests {
  @Test func whatHungBeforeAClientCameIsAmongTheWaits() async throws {
    try await Serving.with { inspection in
      let (event, entered, goOn) = (Event<Int>("hung before"), Signal(), Signal())
      let waiting = (entered.payloads(), goOn.payloads())
      let token = event.addHandler(on: .inOrder) { (_: Int) async in
        entered.post()
        for await _ in waiting.1 { return }
      }
      let sending = Task { await event.send(1) }
      for await _ in waiting.0 { break }
      #expect(await eventually { PolledWait.all().contains { $0.event == event.identity.number } })
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let rows = try await client.rows("waits", events: [event.identity.number])
      #expect(rows.first?["kind"] as? String == "send" && rows.first?["handlers"] as? [UInt64] == [token.id])
      goOn.post()
      _ = await sending.value
    }
  }

  @Test func aWaitThatWasBrokenUpLongBeforeAClientCameIsAWarning() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("own")
    let token = event.addHandler(on: .inOrder) { (number: Int) async in if number == 0 { await event.send(1) } }
    await event.send(0)
    await event.quiesce()
    let (poller, now) = (Poller(), InspectionClock.now)
    func found() -> Bool { poller.warnings.all.contains { $0.code == .deferred && $0.handler == token.id } }
    poller.poll(at: now + 100_000_000_000)
    #expect(found())
    poller.poll(at: now + 111_000_000_000)
    #expect(!found())
  }

  @Test func theOldestOfTooManyDeferredWaitsIsForgotten() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let events = (0...DeferredWaits.most).map { _ in Event<Int>() }
    for event in events {
      event.addHandler(on: .inOrder) { (number: Int) async in if number == 0 { await event.send(1) } }
      await event.send(0)
      await event.quiesce()
    }
    let known = Set(DeferredWaits.last.map(\.event))
    #expect(known.count <= DeferredWaits.most && known.contains(events[DeferredWaits.most].identity.number))
    #expect(!known.contains(events[0].identity.number))
    for event in events { event.finish() }
  }

  @Test func aWaitThatOutlastsTheInspectionIsForgotten() async throws {
    EventRegistry.start()
    let (event, goOn) = (Event<Int>(), Signal())
    let waiting = goOn.payloads()
    event.addHandler(on: .inOrder) { (_: Int) async in for await _ in waiting { return } }
    func isKnown() -> Bool { PolledWait.all().contains { $0.event == event.identity.number } }
    let sending = Task { await event.send(1) }
    #expect(await eventually(isKnown))
    EventRegistry.stop()
    goOn.post()
    _ = await sending.value
    #expect(!isKnown())
  }

  @Test func ticketsAndBarriersAreWaitsOfTheirKinds() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, entered, goOn) = (Event<Int>(), Signal(), Signal())
    let waiting = (entered.payloads(), goOn.payloads())
    let token = event.addHandler(on: .inOrder) { (_: Int) async in
      entered.post()
      for await _ in waiting.1 { return }
    }
    let ticket = event.submit(1)
    let waits = [Task { _ = await ticket.report }, Task { await event.quiesce() }]
    for await _ in waiting.0 { break }
    var found: [PolledWait] = []
    _ = await eventually {
      found = PolledWait.all().filter { $0.event == event.identity.number && !$0.handlers.isEmpty }
      return found.count == 2
    }
    #expect(Set(found.map(\.kind)) == [.ticket, .quiesce] && found.allSatisfy { $0.handlers == [token.id] })
    goOn.post()
    for wait in waits { await wait.value }
  }

  @Test(arguments: [(1, 50), (70_000, 60_000), (1_000, 1_000)])
  func theIntervalIsClamped(asked: Int, given: Int) async throws {
    try await Serving.with { inspection in
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let answer = try await client.request(["do": "subscribe", "interval": asked, "parts": ["waits"]])
      #expect(answer["interval"] as? Int == given)
    }
  }
}
