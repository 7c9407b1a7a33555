import EventingTesting
import Testing

@testable import Eventing

/// Tests of the end of a call on a lane of units, and of the task in which it runs.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct UnitInvocationTests {
  struct Refused: Error {}
  enum Kind: CaseIterable { case direct, retried, failing }

  /// A task that the call leaves holds the call's invocation. The lane destroys the payload before
  /// it tells a sender of the end of the call.
  @Test(arguments: Kind.allCases) func aCallIsOverBeforeItsSenderKnows(kind: Kind) async {
    let (event, posted, goesOn) = (Event<Canary>(), Gate(), Gate())
    let (live, wasInCall) = (LiveCount(), Recorder<Bool>())
    let handler = Handler<Canary>(on: .lane(Lane(limit: 2))) { _ async throws in
      await posted.opened()
      Task { await goesOn.opened() }
      if kind == .failing { throw Refused() }
    }
    event.add(kind == .retried ? handler.retrying(.immediately(attempts: 2)) : handler)
    event.post(Canary(live) { wasInCall.record(Invocation.current != nil) })
    posted.open()
    await event.quiesce()
    #expect(wasInCall.values == [false])
    goesOn.open()
  }
}
