import EventingTesting
import Testing

@testable import Eventing
@testable import EventingInspection

/// Tests of the texts of warnings about calls that wait for other calls.
extension PollerTests {
  @Test func aStuckCallThatWaitsForAnotherOneSaysSo() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (orders, payments) = (Event<Int>("orders"), Event<Int>("payments"))
    let (entered, goOn) = (Signal(), Signal())
    let waiting = (entered.payloads(), goOn.payloads())
    let hanging = payments.addHandler(.named("print"), on: .inOrder) { (_: Int) async in
      entered.post()
      for await _ in waiting.1 { return }
    }
    let caller = orders.addHandler(.named("charge"), on: .inOrder) { number async in await payments.send(number) }
    orders.post(1)
    for await _ in waiting.0 { break }
    let (poller, now) = (Poller(), InspectionClock.now)
    poller.poll(at: now)
    while !poller.waits.contains(where: { $0.row.by == caller.id }) {
      await Task.yield()
      poller.poll(at: now)
    }
    poller.poll(at: now + 1_234 * Self.second)
    #expect(
      warning(.stuck, poller, orders.identity.number, caller.id)?.text
        == "A call of \"charge\" of \"orders\" has not returned. It waits for \"print\" of \"payments\".")
    #expect(
      warning(.stuck, poller, payments.identity.number, hanging.id)?.text
        == "A call of \"print\" of \"payments\" has not returned.")
    goOn.post()
    await orders.quiesce()
  }
}
