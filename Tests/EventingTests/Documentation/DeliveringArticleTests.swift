import Eventing
import Testing

/// Runs the examples of the article "Delivering events".
@Suite(.fewAtATime) struct DeliveringArticleTests {
  actor Store {
    private(set) var saved: [Double] = []
    func save(_ fraction: Double) throws { saved.append(fraction) }
  }
  @MainActor final class View { var fraction = 0.0 }
  final class Controller: Sendable {}
  struct Order: Sendable { var id = 1 }
  struct Refused: Error {}

  @Test func everyPlace() async {
    let progress = Event<Double>()

    progress.addHandler { fraction in print("inline", fraction) }
    progress.addHandler(on: .main) { fraction in print("on the main actor", fraction) }
    progress.addHandler { fraction async in print("asynchronously, in order", fraction) }
    progress.addHandler(.named("disk"), on: .background(.utility)) { fraction in print("on a queue", fraction) }

    #expect(await progress.send(0.5).delivered == 4)
  }

  // swift-format-ignore
  @Test func reportsAndTickets() async throws {
    let (progress, controller, seen) = (Event<Double>(), Controller(), Recorder<Double>())
    progress.addHandler { seen.record($0) }

    progress.post(0.25)                                      // does not wait
    let report = await progress.send(0.5)                    // waits for every handler, on every lane
    let ticket = progress.submit(0.75, from: controller)     // does not wait
    print(report)                                            // #2: 1 delivered, 0 skipped, 0 dropped, …
    let accepted = await ticket.acceptance.isComplete        // waits until the event has delivered it to the lanes
    try await ticket.report.throwIfFailed()                  // waits now; throws the first error of a handler

    #expect(accepted)
    #expect(report.description.hasPrefix("#2: 1 delivered, 0 skipped, 0 dropped, "))
    #expect(seen.values == [0.25, 0.5, 0.75])
  }

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

    progress.addHandler(.buffering(.latest), on: .main) { fraction in view.fraction = fraction }         // the newest only
    progress.addHandler(.buffering(.newest(100)), on: .background) { fraction in log(fraction) }         // the last hundred
    progress.addHandler(.buffering(.suspendingSender(8))) { fraction in await upload(fraction) }

    for number in 1...20 { await progress.send(Double(number)) }
    #expect(uploads.values == (1...20).map(Double.init))
    #expect(await view.fraction == 20)
  }

  // swift-format-ignore
  @Test func errors() async {
    let (orders, order, reported) = (Event<Order>(), Order(), Recorder<String>())
    @Sendable func report(_ failure: HandlerFailure) { reported.record(failure.handler.name ?? "") }
    orders.addHandler(.named("check")) { _ in throw Refused() }

    await #expect(throws: HandlerFailure.self) {
      orders.failures.addHandler { failure in report(failure) }    // called as soon as any handler throws
      try await orders.send(order).throwIfFailed()                 // throws the first error, in the order of handlers
    }
    #expect(reported.values == ["check"])
  }

  enum RequestID { @TaskLocal static var current = 0 }

  // swift-format-ignore
  @Test func context() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.addHandler(on: .background) { _ in seen.record(RequestID.current) }

    // A program calls `propagate` once, at its start. A test calls `carrying.end()`, too.
    let carrying = EventContext.propagate(RequestID.$current)

    await RequestID.$current.withValue(7) { _ = await event.send(1) }
    carrying.end()
    #expect(seen.values == [7])
  }

  enum Cart { case abandoned }

  // swift-format-ignore
  @Test func later() async {
    let (cart, seen) = (Event<Cart>(), Counter())
    cart.addHandler { _ in seen.add() }

    let reminder = cart.post(.abandoned, after: .seconds(3_600))   // posts in an hour, unless cancelled
    reminder.cancel()                                              // returns true if this call prevented the post

    #expect(!reminder.cancel() && seen.value == 0)
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "DeliveringArticleTests")
    let code = try Documentation.examples(Documentation.article("Delivering.md"))
    #expect(code.count == 7)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in DeliveringArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
