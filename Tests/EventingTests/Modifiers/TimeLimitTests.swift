import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H4 of PROOF.md: attempts with a time limit.
@Suite(.fewAtATime) struct TimeLimitTests {
  private func isTimeout(_ failure: HandlerFailure?) -> Bool { failure?.error as? EventingError == .timedOut }

  @Test(arguments: ["inOrder", "main", "task", "concurrent"])
  func aCallThatTakesLongerIsCancelledAndFails(place: String) async {
    let (event, clock, gate) = (Event<Int>(), ManualClock(), Gate())
    let body: @Sendable (Int) async throws -> Void = { _ in
      await withTaskCancellationHandler {
        await gate.opened()
      } onCancel: {
        gate.open()
      }
    }
    let handler: Handler<Int> =
      switch place {
      case "main": Handler(on: .main) { payload async throws in try await body(payload) }
      case "task": Handler(on: .task, perform: body)
      case "concurrent": Handler(on: .concurrent(limit: 2), perform: body)
      default: Handler(perform: body)
      }
    event.add(handler.with(.timingOut(after: .seconds(5), clock: clock)))
    async let report = event.send(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(5))
    let failures = await report.failures
    #expect(failures.count == 1 && isTimeout(failures.first))
    #expect(failures.first.map { "\($0.error)".contains("5.0 seconds") } == true)
  }

  @Test func theNextCallBeginsWhenTheCancelledOneHasReturned() async {
    let (event, clock, gate, seen) = (Event<Int>(), ManualClock(), Gate(), Recorder<Int>())
    event.add(
      Handler(.timingOut(after: .seconds(1), clock: clock)) { payload async throws in
        seen.record(payload)
        if payload == 1 { await Task.detached { await gate.opened() }.value }  // ignores cancellation
      })
    let ticket = event.submit(1)
    event.post(2)
    #expect(await eventually { clock.sleeperCount == 1 && seen.count == 1 })
    clock.advance(by: .seconds(1))
    for _ in 0..<200 { await Task.yield() }
    #expect(seen.values == [1])
    gate.open()
    #expect(isTimeout(await ticket.report.failures.first))
    await event.quiesce()
    #expect(seen.values == [1, 2])
  }

  @Test func aTimeoutIsTriedAgainAndACallInTimeIsNoFailure() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    event.add(
      Handler(.retrying(.immediately(attempts: 2)), .timingOut(after: .seconds(1), clock: clock)) {
        payload async throws in
        seen.record(payload)
        if seen.count == 1 { try await clock.sleep(for: .seconds(100)) }
      })
    async let report = event.send(1)
    #expect(await eventually { clock.sleeperCount == 2 })
    clock.advance(by: .seconds(1))
    #expect(await report.delivered == 1)
    #expect(seen.values == [1, 1])
  }

  @Test func theTaskLocalValuesAndThePriorityOfACallStay() async {
    let event = Event<Int>()
    event.addHandler(.timingOut(after: .seconds(1_000))) { (_: Int) async throws in await event.quiesce() }
    #expect(await event.send(1).delivered == 1)  // `quiesce()` does not wait for the call that it is in
  }
}
