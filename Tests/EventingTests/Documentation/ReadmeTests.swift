import Eventing
import Testing

/// Runs the example of the README, and compares what it prints with what the README shows.
@Suite(.fewAtATime) struct ReadmeTests {
  // swift-format-ignore
  @Test func exampleShowsItsOutput() async throws {
    let output = Recorder<String>()
    @Sendable func print(_ items: Any...) { output.record(items.map { "\($0)" }.joined(separator: " ")) }

    let progress = Event<Double>("progress")
    let bar = progress.addHandler { fraction in print("bar:", fraction) }   // inline: called where the event delivers
    progress.addHandler { fraction async in print("log:", fraction) }       // asynchronous: one call at a time

    progress.post(0.25)                     // calls bar, hands the value to log, and does not wait for it
    await progress.quiesce()                // no call is running any more
    let report = await progress.send(0.5)   // calls bar, then log, and waits for both
    print(report)                           // the second occurrence: what became of its two handlers
    progress.remove(bar)                    // from now on no call of bar begins
    await progress.send(1)

    let readme = try Documentation.lines(Documentation.readme)
    let shown = readme.drop { $0 != "```text" }.dropFirst().prefix { $0 != "```" }
    #expect(output.values == Array(shown))
    #expect(output.count == 6)
  }

  struct Order: Sendable, Equatable {
    var customer = "ada"
    var total = 10.0
  }
  @MainActor final class Screen {
    var shown: [Order] = []
    func show(_ order: Order) { shown.append(order) }
  }
  actor Store {
    var saved: [Order] = []
    func save(_ order: Order) { saved.append(order) }
  }

  // swift-format-ignore
  @Test func eachNeedHasALine() async throws {
    let (orders, returns, pricing) = (Event<Order>("orders"), Event<Order>("returns"), EventQuestion<Order, Double>())
    let (screen, store, order, calls, printed) = (Screen(), Store(), Order(), Recorder<String>(), Recorder<String>())
    @Sendable func mail(_ order: Order) async throws {
      calls.record("mail")
      throw CancellationError()
    }
    @Sendable func bill(_ order: Order) async throws { calls.record("bill") }
    @Sendable func pack(_ order: Order) async throws { calls.record("pack") }
    @Sendable func insert(_ batch: [Order]) async throws { calls.record("insert \(batch.count)") }
    @Sendable func print(_ items: Any...) { printed.record("\(items[0])") }
    pricing.addResponder { order in order.total }

    orders.intercept(.priority(1)) { order in order.total < 0 ? .stop : .proceed }       // before handlers of priority 0
    orders.addHandler(on: .main, owner: screen) { screen, order in screen.show(order) }  // ends with its owner
    orders.addHandler(isolatedTo: store) { store, order in store.save(order) }           // inside an actor
    orders.addHandler(.retrying(.immediately(attempts: 3))) { order in try await mail(order) }
    orders.addHandler(.inOrder(by: \.customer), on: .concurrent(limit: 8)) { order in try await bill(order) }
    orders.addHandler(.buffering(.suspendingSender(64))) { order in try await pack(order) }
    orders.batches(of: 100, within: .milliseconds(50)).addHandler { batch in try await insert(batch) }
    orders.deadLetters.addHandler { letter in print(letter.payload, letter.failure.error) }
    orders.unhandled.addHandler { occurrence in print("nobody heard", occurrence.payload) }
    let feed = orders.merge(returns).payloads(buffering: .newest(64))   // in a task: for await order in feed { … }
    let price = try await pricing.firstAnswer(to: order)                // pricing is an EventQuestion<Order, Double>
    let isFull = await orders.submit(order).acceptance.dropped > 0      // some handler had no room
    await orders.quiesce()                                              // each handler has handled what was posted
    orders.finish()

    #expect(price == 10 && !isFull)
    #expect(calls.values.sorted() == ["bill", "insert 1", "mail", "mail", "mail", "pack"])
    #expect(await screen.shown == [order])
    #expect(await store.saved == [order])
    #expect(printed.values == ["\(order)"])
    returns.finish()
    var fed: [Order] = []
    for await order in feed { fed.append(order) }
    #expect(fed == [order])
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "ReadmeTests")
    let code = try Documentation.examples(Documentation.readme).filter { $0.first?.hasPrefix(".package") != true }
    #expect(code.count == 2)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in ReadmeTests.swift as it stands in the README: \(example.first ?? "")")
    }
  }
}
