import Dispatch
import Eventing
import EventingFoundation
import Foundation
import Testing

/// Tests of features 99 to 104 of AFFEvent, IKEvents and emitter-kit: inspecting handlers.
@Suite(.fewAtATime) struct InspectionRows {
  @Test("99: a handler or a name can be found")
  func aHandlerOrANameCanBeFound() {
    let event = Event<Int>()
    let token = event.addHandler(.named("x")) { _ in }
    #expect(event.contains(token))
    #expect(event.contains(where: .named("x")))
    #expect(!event.contains(where: .named("y")))
    #expect(!Event<Int>().contains(token))
    event.remove(token)
    #expect(!event.contains(token))
    #expect(!event.contains(where: .named("x")))
  }

  @Test("100: handlers are listed as snapshots")
  func handlersAreListedAsSnapshots() async {
    let event = Event<Int>()
    event.addHandler(.named("low"), .priority(-1)) { _ in }
    let token = event.addHandler(.named("first"), on: .background) { _ in }
    event.addHandler(.named("second")) { _ in }
    let before = await event.handlers()
    event.lock(token)
    event.removeAll(where: .named("second"))
    #expect(before.map(\.name) == ["first", "second", "low"])
    #expect(before.map(\.isLocked) == [false, false, false])
    #expect(await event.handlers().map(\.name) == ["first", "low"])
    #expect(await event.handlers().map(\.isLocked) == [true, false])
  }

  @Test("101: the handlers of an owner are listed")
  func theHandlersOfAnOwnerAreListed() async {
    let event = Event<Int>()
    let (one, other) = (Lookalike(), Lookalike())
    event.addHandler(.named("a"), owner: one) { _, _ in }
    event.addHandler(.named("b"), owner: other) { _, _ in }
    event.addHandler(.named("c"), on: .background, owner: one) { _, _ in }
    event.addHandler(.named("d")) { _ in }
    #expect(await event.handlers(where: .ownedBy(one)).map(\.name) == ["a", "c"])
    #expect(await event.handlers(where: .ownedBy(Lookalike())).isEmpty)
    withExtendedLifetime((one, other)) {}
  }

  @Test("102: handlers are counted")
  func handlersAreCounted() async {
    let event = Event<Int>()
    #expect(event.handlerCount == 0)
    let token = event.addHandler { _ in }
    event.once(on: .background) { _ in }
    event.addHandler(owner: Meter()) { _, _ in }  // an owner that is released at once
    event.lock(token)
    #expect(event.handlerCount == 2)
    #expect(event.handlerCount > 0)
    event.remove(token)
    await event.send(1)
    #expect(event.handlerCount == 0)
  }

  @Test("103: a snapshot describes its handler")
  func aSnapshotDescribesItsHandler() async throws {
    let (event, meter) = (Event<Int>(), Meter())
    let handler = Handler<Int>(.named("audit"), .tagged("io"), .priority(3), on: .background(.utility), owner: meter) {
      _, _ in
    }
    let token = event.add(handler)
    event.once { _ in throw CancellationError() }
    await event.withLocked(token) { await event.send(1) }
    await event.send(2)
    event.lock(token)
    let snapshot = try #require(await event.handlers().first)
    #expect(snapshot.id == token.id)
    #expect(snapshot.name == "audit")
    #expect(snapshot.delivery == "background(utility)")
    #expect(snapshot.priority == 3)
    #expect(snapshot.tags == ["io"])
    #expect(snapshot.isLocked)
    #expect(!snapshot.isOnce)
    #expect(snapshot.hasOwner)
    #expect(snapshot.callCount == 1)
    #expect(snapshot.skippedCount == 1)
    #expect(snapshot.droppedCount == 0)
    withExtendedLifetime(meter) {}
  }

  @Test("104: every public value describes itself in one line")
  func everyPublicValueDescribesItselfInOneLine()
    async throws
  {
    let event = Event<Int>("progress")
    let token = event.addHandler(.named("fails")) { _ in throw Mishap() }
    let occurrences = Recorder<EventOccurrence<Int>>()
    event.occurrences.addHandler { occurrences.record($0) }
    let report = await event.send(1)
    let values: [Any] = [
      event, Signal(), token, Handler<Int> { _ in }, HandlerBag(), report, event.submit(2),
      try #require(report.failures.first), try #require(await event.handlers().first),
      try #require(occurrences.values.first),
      SyncDelivery.inline, SyncDelivery.background, AsyncDelivery.inOrder, AsyncDelivery.task, MainDelivery.main,
      Interception<Int>.stop, InterceptorOption.once, await event.submit(3).acceptance,
      KeyedEvent<String, Int>("moved"), ObjectKey(event), EventBus(), EventKey<Int>("volume"), Observed(0.5),
      ValueChange(old: 1, new: 2), HandlerOption<Int>.once, EventingError.payloadMismatch,
      PostedNotification(Notification.Name("n")),
    ]
    for value in values {
      let description = (value as? any CustomStringConvertible)?.description
      #expect(description != nil, "\(type(of: value)) is not CustomStringConvertible")
      #expect(description?.isEmpty == false)
      #expect(description?.contains("\n") == false)
    }
  }
}
