import Eventing
import Testing

/// The article "Delivering events", as it stands.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct DeliveringTests {
  actor Store {
    private(set) var saved: [Double] = []
    func save(_ fraction: Double) throws { saved.append(fraction) }
  }
  @MainActor final class View { var fraction = 0.0 }
  struct Order: Sendable { var id = 1 }
  struct Refused: Error {}

  // swift-format-ignore
  @Test func asynchronousHandlers() async {
    let (progress, store) = (Event<Double>(), Store())

    progress.addHandler { fraction in try await store.save(fraction) }                                  // one call at a time, in order
    progress.addHandler(on: .concurrent(limit: 4)) { fraction in try await store.save(fraction) }       // up to four at a time
    progress.addHandler(on: .task) { fraction in try await store.save(fraction) }                       // of a send: its child tasks
    await progress.send(0.5)                                                                            // all of them have finished

    #expect(await store.saved == [0.5, 0.5, 0.5])
  }

  // swift-format-ignore
  @Test func slowHandlers() async {
    let progress = Event<Double>()
    let view = View()
    let uploads = Recorder<Double>()
    @Sendable func log(_ fraction: Double) {}
    @Sendable func upload(_ fraction: Double) async { uploads.record(fraction) }

    progress.addHandler(on: .main(buffering: .latest)) { fraction in view.fraction = fraction }         // the newest only
    progress.addHandler(on: .background(buffering: .newest(100))) { fraction in log(fraction) }         // the last hundred
    progress.addHandler(on: .inOrder(buffering: .suspendingSender(8))) { fraction in await upload(fraction) }

    for number in 1...20 { await progress.send(Double(number)) }
    #expect(uploads.values == (1...20).map(Double.init))
    #expect(await view.fraction == 20)
  }

  @Test func sequences() async {
    let progress = Event<Double>()
    let seen = Recorder<String>()
    @Sendable func print(_ item: Any) { seen.record("\(item)") }
    let loops = [
      Task {
        for await fraction in progress.payloads(buffering: .newest(16)) { print(fraction) }
      },
      Task {
        for await arrival in progress.arrivals(buffering: .oldest(16)) {
          switch arrival {
          case .payload(let fraction): print(fraction)
          case .lagged(let count): print("\(count) are missing here")
          }
        }
      },
    ]
    #expect(await eventually { progress.handlerCount == 2 })
    progress.post(0.5)
    progress.finish()
    for loop in loops { await loop.value }
    #expect(seen.values == ["0.5", "0.5"])
  }

  @Test func oneIsAwaited() async throws {
    let progress = Event<Double>(replaying: .current(0.25))
    let sender = Task {
      for number in 1...4 { progress.post(Double(number) / 4) }
    }
    let half = try await progress.next(within: .seconds(2)) { fraction in fraction >= 0.5 }
    #expect(half >= 0.5)
    await sender.value
  }

  // swift-format-ignore
  @Test func whatWasSentBefore() {
    let shown = Recorder<Double>()
    @Sendable func show(_ volume: Double) { shown.record(volume) }

    let volume = Event("volume", replaying: .current(0.5))
    volume.addHandler { volume in show(volume) }                 // 0.5 now, and then what is sent
    volume.post(0.7)
    print(volume.latest ?? 0)                                    // 0.7

    #expect(shown.values == [0.5, 0.7])
    #expect(volume.latest == 0.7)
  }

  // swift-format-ignore
  @Test func whatHandlersThrow() async {
    let (orders, order, reported) = (Event<Order>(), Order(), Recorder<String>())
    @Sendable func report(_ failure: HandlerFailure) { reported.record(failure.name ?? "") }
    orders.addHandler(named: "check") { _ in throw Refused() }

    await #expect(throws: Refused.self) {
      orders.failures.addHandler { failure in report(failure) }    // as it is thrown, wherever the handler runs
      try await orders.send(order).throwIfFailed()                 // the first in the order of the handlers
    }
    #expect(reported.values == ["check"])
  }

  // swift-format-ignore
  @Test func holding() async {
    let (orders, order, seen) = (Event<Order>(), Order(), Recorder<Int>())
    let audit = orders.addHandler { seen.record($0.id) }
    let states = Recorder<[Int]>()
    orders.addHandler { _ in states.record(seen.values) }

    orders.lock(audit, holding: .upTo(100))                      // or .latest; without it nothing is held
    orders.post(order)                                           // not now
    orders.unlock(audit)                                         // now, before anything newer

    #expect(states.values == [[]] && seen.values == [1])
  }

  // swift-format-ignore
  @Test func watching() async {
    let (orders, order) = (Event<Order>("orders"), Order())
    @Sendable func log(_ line: String) { Self.logged.record(line) }

    struct DropLogger: EventObserver {
      func dropped(_ handler: HandlerToken, sequence: UInt64) { log("\(handler.name ?? "a handler") had no room for #\(sequence)") }
    }
    let watching = orders.observe(with: DropLogger())            // until watching.end()
    orders.unheard.addHandler { occurrence in log("nobody took \(occurrence)") }

    orders.post(order)
    let (gate, begun) = (Gate(), Gate())
    let audit = BoundedLane.background.handler(.newest(1), until: gate) { (_: Order) in begun.open() }
    orders.add(audit.named("audit"))
    orders.post(order)
    await begun.opened()
    for _ in 0..<2 { orders.post(order) }
    watching.end()
    gate.open()
    await orders.quiesce()
    #expect(Self.logged.values.contains("nobody took orders #1: Order(id: 1)"))
    #expect(Self.logged.values.contains("audit had no room for #3"))
  }

  // swift-format-ignore
  @Test func diagnosing() async {
    await #expect(processExitsWith: .success) {
      @Sendable func log(_ line: String) { DeliveringTests.logged.record(line) }

      let diagnostics = EventDiagnostics(slowerThan: .milliseconds(100), moreHandlersThan: 100) { finding in log("\(finding)") }
      let everywhere = diagnostics.observeNewEvents()              // until everywhere.end()

      let orders = Event<Order>("orders")
      for _ in 0..<101 { orders.addHandler { _ in } }
      everywhere.end()
      precondition(DeliveringTests.logged.values == ["orders has 101 handlers, more than 100: 101 without a name"])
    }
  }

  static let logged = Recorder<String>()

  enum RequestID { @TaskLocal static var current = 0 }

  // swift-format-ignore
  @Test func context() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.addHandler(on: .background) { _ in seen.record(RequestID.current) }

    let carrying = EventContext.carry(RequestID.$current)        // once, when the program starts; a test ends it again

    await RequestID.$current.withValue(7) { _ = await event.send(1) }
    carrying.end()
    #expect(seen.values == [7])
  }

  actor Shop { func price(of item: String) throws -> Double? { item == "tea" ? 2.5 : nil } }

  @Test func asking() async throws {
    let shop = Shop()

    let price = Question<String, Double>("price")
    price.addResponder { item in try await shop.price(of: item) }
    let tea = try await price.first("tea", within: .seconds(1))

    #expect(tea == 2.5)
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "DeliveringTests")
    let code = try Documentation.examples(Documentation.article("Delivering.md"))
    #expect(code.count == 12)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in DeliveringTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
