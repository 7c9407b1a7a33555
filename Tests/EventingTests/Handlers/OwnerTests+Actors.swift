import Eventing
import Testing

extension OwnerTests {
  @Test func aCallThatWaitsForAReleasedActorIsSkipped() async {
    let event = Event<Int>()
    let (steps, calls) = (StepExecutor(), Counter())
    let ticket: SendTicket
    do {
      let stage = Stage()
      steps.adding { _ = event.addHandler(isolatedTo: stage) { _, _ in calls.add() } }
      ticket = withExtendedLifetime(stage) { event.submit(1) }
    }
    let report = await comesBack {
      await steps.run()
      return await ticket.report
    }
    #expect(report?.skipped == 1)
    #expect(calls.value == 0)
  }
}
