import Eventing
import EventingDiagnostics
import Testing

/// Runs the examples of the guide "On the server".
@Suite(.fewAtATime) struct OnTheServerGuideTests {
  struct Order: Sendable {
    var id = 7
    var customer = "ada"
  }
  struct Orders: Sendable {
    let checked = Event<Order>("checked")
    let placed = Event<Order>("placed")
    let mailed = Event<Order>("mailed")
  }
  struct Request { func order() throws -> Order { Order() } }
  struct Response { var status: Int }
  enum RequestID { @TaskLocal static var current = 0 }
  struct Full: Error {}
  struct Client: Sendable {
    let written = Recorder<String>()
    func write(_ text: String) async throws { written.record(text) }
  }

  // swift-format-ignore
  @Test func waitOrGoOn() async throws {
    let (orders, calls) = (Orders(), Recorder<String>())
    orders.placed.addHandler { _ in calls.record("placed") }

    func handle(_ request: Request) async throws -> Response {
      let order = try request.order()
      try await orders.checked.send(order).throwIfFailed()     // the response waits for the checks
      orders.placed.post(order)                                // the response does not wait for mail and statistics
      return Response(status: 201)
    }

    #expect(try await handle(Request()).status == 201)
    orders.checked.addHandler { _ in throw Full() }
    await #expect(throws: HandlerFailure.self) { try await handle(Request()) }
    #expect(calls.count == 1)
  }

  // swift-format-ignore
  @Test func limits() async throws {
    let (orders, calls) = (Orders(), Recorder<String>())
    @Sendable func count(_ order: Order) async { calls.record("counted") }
    @Sendable func mail(_ order: Order) async throws { calls.record("mailed") }

    orders.placed.addHandler(.named("statistics"), .buffering(.newest(1_000))) { order in await count(order) }
    orders.placed.addHandler(
      .named("mail"), .inOrder(by: \.customer), .buffering(.suspendingSender(100)), .timingOut(after: .seconds(10)),
      .retrying(.exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5)), on: .concurrent(limit: 8)
    ) { order in try await mail(order) }

    func accept(_ request: Request) async throws -> Response {
      let ticket = orders.placed.submit(try request.order())
      return Response(status: await ticket.acceptance.isComplete ? 202 : 503)     // does not wait for the mail
    }

    #expect(await orders.placed.send(Order()).delivered == 2)
    #expect(calls.values.sorted() == ["counted", "mailed"])
    #expect(try await accept(Request()).status == 202)
    orders.placed.finish()
    #expect(try await accept(Request()).status == 503)
  }

  // swift-format-ignore
  @Test func contextAndFailures() async {
    await #expect(processExitsWith: .success) {
      let (orders, calls) = (Orders(), Recorder<String>())
      @Sendable func log(_ line: String) { calls.record(line) }

      let carrying = EventContext.propagate(RequestID.$current)

      orders.placed.failures.addHandler { failure in log("\(failure)") }
      orders.placed.deadLetters.addHandler { letter in log("given up: \(letter)") }
      let watching = EventDiagnostics(slowerThan: .seconds(1), stuckAfter: .seconds(10)) { finding in log("\(finding)") }.observeNewEvents()

      orders.placed.addHandler { _ async throws in
        calls.record("request \(RequestID.current)")
        throw Full()
      }
      _ = await RequestID.$current.withValue(3) { await orders.placed.send(Order()) }
      await orders.placed.quiesce()
      precondition(calls.values.contains("request 3") && calls.count >= 3)
      watching.end()
      carrying.end()
    }
  }

  @Test func streams() async throws {
    let (orders, client) = (Event<Order>("placed"), Client())

    func stream(_ orders: Event<Order>, to client: Client) async throws {
      for await arrival in orders.arrivals(buffering: .oldest(64)) {
        switch arrival {
        case .payload(let order): try await client.write("data: \(order.id)\n\n")
        case .dropped(let count): try await client.write("event: lagged\ndata: \(count)\n\n")
        }
      }
    }

    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await stream(orders, to: client) }
      #expect(await eventually { orders.handlerCount > 0 })
      orders.post(Order())
      orders.finish()
      try await group.waitForAll()
    }
    #expect(client.written.values == ["data: 7\n\n"])
  }

  // swift-format-ignore
  @Test func theOrderOfAnEnd() async {
    let (orders, calls) = (Orders(), Recorder<String>())
    orders.placed.addHandler { _ async in calls.record("placed") }
    orders.placed.forward(to: orders.mailed)
    orders.mailed.addHandler { _ async in calls.record("mailed") }
    let streams = [Task { for await _ in orders.placed.payloads() {} }]
    orders.placed.post(Order())

    for client in streams { client.cancel() }        // step 1: ends the loops of open streams
    await orders.placed.quiesce()                    // step 3: waits until all that was posted has been handled
    await orders.mailed.quiesce()                    // step 3: quiesces the target of the forward after its source
    orders.placed.finish()                           // step 4: sends from now on reach no handler
    orders.mailed.finish()

    #expect(calls.values.sorted() == ["mailed", "placed"])
    orders.placed.post(Order())
    #expect(calls.count == 2)
    await streams[0].value
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("OnTheServer.md", "OnTheServerGuideTests", examples: 7)
  }
}
