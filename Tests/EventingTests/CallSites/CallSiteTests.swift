import Dispatch
import Eventing
import Testing

/// Checks the call sites of the documentation. They must compile, choose the overload that fits
/// their closure, and call their handlers.
@Suite(.fewAtATime) struct CallSiteTests {
  @Test func verbatimCallSitesWorkAsDocumented() async throws {
    let controller = CallSites.Controller()
    let (store, account, bag) = (CallSites.Store(), CallSites.Account(), HandlerBag())
    let view = CallSites.ProgressView()
    let orderPlaced = Event<CallSites.Order>()
    let result = try await CallSites.verbatim(
      d: CallSites.Downloader(), view: view, controller: controller, myQueue: DispatchQueue(label: "mine"),
      store: store,
      account: account, handlers: bag, orderPlaced: orderPlaced)
    #expect(result.report.sequence == 3)
    #expect(result.report.delivered == 10)  // the once handler is used up
    #expect(result.later.sequence == 4)
    #expect(result.later.delivered == 10)
    #expect(result.locked == false)
    #expect(result.snapshots == 10)
    #expect(controller.updates.values == Array(repeating: 0.5, count: 8))
    // No report waits for the posts, whose calls overlap those of the sends.
    #expect(await eventually { store.saved.values == Array(repeating: 0.5, count: 8) })
    #expect(await account.n == 2)
    #expect(await view.fraction == 0.5)
    #expect(await orderPlaced.handlers().map(\.name) == ["audit", nil])
    #expect(await orderPlaced.handlers().map(\.isOnce) == [false, true])
    #expect(await orderPlaced.handlers().map(\.tags) == [["io"], []])
  }

  @Test func closureDecidesWhichOverloadIsTaken() async {
    let event = CallSites.selection()
    let expected: KeyValuePairs = [
      "{ now }": "inline",
      "{ try now }": "inline",
      "{ try typed now }": "inline",
      "{ x throws(Problem) in }": "inline",
      "now": "inline",
      "nowTyped": "inline",
      "{ await }": "in order",
      "{ try await }": "in order",
      "{ try await typed }": "in order",
      "{ x async in now }": "in order",
      "{ x async throws(Problem) in }": "in order",
      "later": "in order",
      "laterTyped": "in order",
      "await in a nested Task only": "inline",
      "await in the second statement": "in order",
      "background { now }": "background(utility)",
      "background { await }": "in order(utility)",
      "concurrent { now }": "concurrent(limit: 2)",
      "concurrent { await }": "concurrent(limit: 2)",
      "task { now }": "task(high)",
      "task { await }": "task(high)",
      "main { now }": "main",
      "main { await }": "main",
    ]
    let handlers = await event.handlers()
    #expect(handlers.map { $0.name ?? "" } == expected.map(\.key))
    #expect(handlers.map(\.delivery) == expected.map(\.value))
    #expect(await event.send(0.5).delivered == expected.count)
  }

  @MainActor @Test func callSitesOfTopLevelCodeWorkAsDocumented() async {
    let result = await CallSites.topLevel()
    #expect(result.reports.map(\.sequence) == [2, 2, 2, 3, 4, 5, 6])
    #expect(result.reports.map(\.delivered) == [6, 1, 2, 10, 11, 10, 12])
    #expect(result.reports.map(\.skipped) == [0, 0, 0, 0, 0, 1, 0])
    #expect(result.seen == 6 + 8)
    #expect(result.fraction == 3)
    #expect(result.loads == 4)
    #expect(result.n == 1)
    #expect(result.left == 0)
  }

  // MARK: Every kind of caller

  @Test func callSitesInASynchronousFunctionAreAllDelivered() async {
    let d = CallSites.Downloader()
    let (account, store) = (CallSites.Account(), CallSites.Store())
    let view = CallSites.ProgressView()
    CallSites.synchronous(d, view: view, queue: DispatchQueue(label: "mine"), account: account, store: store)
    let found = (d.progress.handlerCount, d.cancelled.handlerCount, d.resized.handlerCount)
    let progress = await d.progress.send(0.5)
    #expect(progress.delivered == found.0)
    #expect(await d.cancelled.send().delivered == found.1)
    #expect(await d.resized.send((3, 4)).delivered == found.2)
    #expect(await account.n == 2)
    #expect(store.saved.values.allSatisfy { $0 == 0.5 || $0 == 0 || $0 == 12 })
  }

  @MainActor @Test func callSitesInAViewModelReachTheModel() async {
    let d = CallSites.Downloader()
    let model = CallSites.ViewModel(d)
    await model.sendFromHere(d)
    await d.progress.send(0.75)
    #expect(model.fraction == 0.75)
    #expect(await d.cancelled.send().delivered == 1)
    #expect(await d.resized.send((3, 4)).delivered == 2)
  }

  @Test func callSitesInAnActorReachTheActor() async {
    let d = CallSites.Downloader()
    let accountant = CallSites.Accountant()
    await accountant.listen(d)
    #expect(await accountant.total == 1)
    await d.progress.send(0.5)  // only a closure with a weak reference is left
    #expect(await accountant.total == 1.5)
  }

  @Test func callSitesInASendableClassEndWithTheObject() async {
    let d = CallSites.Downloader()
    let live: Int
    do {
      let service = CallSites.Service(d)
      live = d.progress.handlerCount
      let report = await d.progress.send(0.5)
      #expect(report.delivered == live)
      #expect(report.skipped == 0)
      withExtendedLifetime(service) {}
    }
    #expect(live >= 10)
    #expect(await eventually { d.cancelled.handlerCount == 0 })
    #expect(d.resized.handlerCount == 0)
  }

  @Test func callSitesOnASourceReachTheEvent() async throws {
    let event = Event<Int>()
    let view = CallSites.ProgressView()
    try await CallSites.listen(event.source, event, view: view)
    let report = await event.send(7)
    #expect(report.delivered == event.handlerCount)
    #expect(await view.fraction == 7)
  }

  @Test func callSitesInAGenericFunctionChooseByTheClosure() async {
    let event = Event<String>()
    await CallSites.generic(event, "text")
    #expect(await event.handlers().map(\.delivery) == ["inline", "in order"])
  }

  // MARK: Views, buses, batches

  @MainActor @Test func callSitesOfSeveralValuesReachTheirHandlers() async {
    let (person, auditor) = (CallSites.Person(), CallSites.Auditor())
    let tokens = CallSites.combined(person, auditor)
    person.last.value = "Byron"
    await person.first.quiesce()
    #expect(tokens.count == 10 && Set(tokens).count == 10)
    #expect(auditor.seen.values == ["AdaLovelace", "AdaByron"])
  }

  @Test func callSitesOfAllEventsOfABusReachThePayloads() async {
    struct Entry: CallSites.Auditable { var text = "entry" }
    let (bus, auditor) = (EventBus(), CallSites.Auditor())
    #expect(CallSites.everywhere(bus, auditor).count == 7)
    let report = await bus.send(Entry())
    #expect(report.delivered == 6 && report.skipped == 1)
    #expect(auditor.seen.values == ["entry", "entry", "entry"])
  }

  @Test func callSitesOfBatchesTakeThePayloads() async {
    let orders = Event<CallSites.Order>()
    async let counts = CallSites.inBatches(orders)
    while !orders.isFinished {
      orders.post(CallSites.Order())
      await Task.yield()
    }
    #expect(await counts.reduce(0, +) >= 1)
  }
}
