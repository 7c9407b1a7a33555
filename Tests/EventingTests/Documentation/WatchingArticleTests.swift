import Eventing
import EventingDiagnostics
import Testing

/// Runs the examples of the article "Watching events".
@Suite(.fewAtATime) struct WatchingArticleTests {
  struct Order: Sendable { var id = 1 }

  static let logged = Recorder<String>()

  // swift-format-ignore
  @Test func snapshots() async {
    let progress = Event<Double>()

    progress.addHandler(.named("audit"), .tagged("io"), .once, on: .background) { fraction in print(fraction) }
    progress.lockAll(where: .tagged("io"))
    for handler in await progress.handlers() { print(handler) }   // audit on background(utility), Main.swift:9, locked, once, 0 calls, …

    let lines = await progress.handlers().map(\.description)
    #expect(lines.count == 1)
    #expect(lines[0].hasPrefix("audit on background(utility), WatchingArticleTests.swift:"))
    #expect(lines[0].hasSuffix(", locked, once, 0 calls, 0 failed, 0 dropped"))
  }

  @Test func unhandled() async {
    let (progress, seen) = (Event<Double>(), Recorder<Double>())

    progress.unhandled.addHandler { occurrence in print("no handler took", occurrence) }

    progress.unhandled.addHandler { seen.record($0.payload) }
    #expect(await progress.send(0.5).reachedNobody)
    #expect(seen.values == [0.5])
  }

  // swift-format-ignore
  @Test func observers() async {
    let (orders, order) = (Event<Order>("orders"), Order())
    @Sendable func log(_ line: String) { Self.logged.record(line) }

    struct DropLogger: EventObserver {
      func observe(_ step: EventStep) {
        guard step.kind == .dropped, let handler = step.handler, let sequence = step.sequence else { return }
        log("\(handler.name ?? "a handler") of \(step.event) had no room for #\(sequence)")
      }
    }
    let watching = orders.observe(with: DropLogger())            // until watching.end()

    orders.unhandled.addHandler { occurrence in log("no handler took \(occurrence)") }
    orders.post(order)
    let (gate, begun) = (Gate(), Gate())
    let audit = BoundedLane.background.handler(.newest(1), until: gate) { (_: Order) in begun.open() }
    orders.add(audit.with(.named("audit")))
    orders.post(order)
    await begun.opened()
    for _ in 0..<2 { orders.post(order) }
    watching.end()
    gate.open()
    await orders.quiesce()
    #expect(Self.logged.values.contains("no handler took orders #1: Order(id: 1)"))
    #expect(Self.logged.values.contains("audit of orders had no room for #3"))
  }

  // swift-format-ignore
  @Test func diagnosticsOfOneEvent() async {
    let progress = Event<Double>()

    progress.observe(with: EventDiagnostics(slowerThan: .seconds(1), moreHandlersThan: 100) { finding in print(finding) })

    progress.addHandler { _ in }
    #expect(await progress.send(0.5).delivered == 1)
  }

  // swift-format-ignore
  @Test func diagnosticsOfStuckCalls() async {
    let (billing, gate, begun, told) = (Event<Order>("billing"), Gate(), Gate(), Recorder<String>())

    billing.observe(with: EventDiagnostics(stuckAfter: .seconds(10)) { finding in print(finding) })

    let diagnostics = EventDiagnostics(stuckAfter: .seconds(10)) { told.record("\($0)") }
    billing.observe(with: diagnostics)
    billing.addHandler(.named("card")) { _ in
      begun.open()
      await gate.opened()
    }
    let send = Task { await billing.send(Order()) }
    await begun.opened()
    for _ in 0..<3 { diagnostics.look() }
    #expect(told.values[0].hasPrefix("card of billing has been running for "))
    #expect(told.values[0].contains(" s, more than 10.0 seconds, WatchingArticleTests.swift:"))
    #expect(told.values[0].contains("; waiting for it: billing #1 for "))
    gate.open()
    #expect(await send.value.delivered == 1)
  }

  // swift-format-ignore
  @Test func diagnosticsOfNewEvents() async {
    await #expect(processExitsWith: .success) {
      @Sendable func log(_ line: String) { WatchingArticleTests.logged.record(line) }

      let diagnostics = EventDiagnostics(slowerThan: .milliseconds(100), moreHandlersThan: 100) { finding in log("\(finding)") }
      let everywhere = diagnostics.observeNewEvents()              // until everywhere.end()

      let orders = Event<Order>("orders")
      for _ in 0..<101 { orders.addHandler { _ in } }
      everywhere.end()
      precondition(WatchingArticleTests.logged.values == ["orders has 101 handlers, more than 100: 101 without a name"])
    }
  }

  @Test func findingsHaveAKind() {
    let (progress, kinds) = (Event<Double>(), Recorder<EventDiagnostics.Finding.Kind>())
    progress.observe(with: EventDiagnostics(moreHandlersThan: 1) { finding in kinds.record(finding.kind) })
    for _ in 0..<2 { progress.addHandler { _ in } }
    #expect(kinds.values == [.manyHandlers])
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "WatchingArticleTests")
    let code = try Documentation.examples(Documentation.article("Watching.md"))
    #expect(code.count == 6)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in WatchingArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
