import Eventing

// swift-format-ignore
func readme() async {
  let progress = Event<Double>("progress")
  let bar = progress.addHandler { fraction in print("bar:", fraction) }   // inline: called where the event delivers
  progress.addHandler { fraction async in print("log:", fraction) }       // asynchronous: one call at a time

  progress.post(0.25)                     // calls bar, hands the value to log, and does not wait for it
  await progress.quiesce()                // no call is running any more
  let report = await progress.send(0.5)   // calls bar, then log, and waits for both
  print(report)                           // the second occurrence: what became of its two handlers
  progress.remove(bar)                    // from now on no call of bar begins
  await progress.send(1)

  expect(report.delivered, 2)
}

// swift-format-ignore
func readmeNeeds() async throws {
  nonisolated struct Order: Sendable {
    var customer = "ada"
    var total = 10.0
  }
  @MainActor final class Screen {
    nonisolated init() {}
    func show(_ order: Order) { Log.shared.write("shown") }
  }
  actor Store {
    var saved = 0
    func save(_ order: Order) { saved += 1 }
  }
  @Sendable nonisolated func mail(_ order: Order) async throws { throw CancellationError() }
  @Sendable nonisolated func bill(_ order: Order) async throws {}
  @Sendable nonisolated func pack(_ order: Order) async throws {}
  @Sendable nonisolated func insert(_ batch: [Order]) async throws {}
  let (orders, returns, pricing) = (Event<Order>("orders"), Event<Order>("returns"), EventQuestion<Order, Double>())
  let (screen, store, order) = (Screen(), Store(), Order())
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

  returns.finish()
  var fed = 0
  for await _ in feed { fed += 1 }
  expect(fed, 1)
  expect(price, 10)
  expect(isFull, false)
  expect(await store.saved, 1)
  expect(Log.shared.take(), ["shown"])
}
