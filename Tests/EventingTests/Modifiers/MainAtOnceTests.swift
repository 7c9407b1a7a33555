import Eventing
import EventingTesting
import Testing

/// Tests of guarantee G14 for handlers with modifiers: if the event delivers an occurrence on the
/// main queue, a synchronous `.main` handler is called at once, within the delivery.
@Suite(.fewAtATime) @MainActor struct MainAtOnceTests {
  struct Refused: Error {}
  enum Kind: CaseIterable { case keyed, retried, both }

  private func handler(_ kind: Kind, _ body: @escaping @MainActor @Sendable (Int) throws -> Void) -> Handler<Int> {
    let handler = Handler(on: .main, perform: body)
    return switch kind {
    case .keyed: handler.with(.inOrder { $0 })
    case .retried: handler.with(.retrying(.immediately(attempts: 3)))
    case .both: handler.with(.inOrder { $0 }, .retrying(.immediately(attempts: 3)))
    }
  }

  @Test(arguments: Kind.allCases) func aCallRunsAtOnceOnTheMainQueue(kind: Kind) async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.add(handler(kind) { seen.record($0) })
    for number in 1...3 {
      event.post(number)
      #expect(seen.count == number)
    }
    let ticket = event.submit(4)
    #expect(seen.values == [1, 2, 3, 4])
    #expect(await ticket.report.delivered == 1)
  }

  @Test(arguments: Kind.allCases) func aHandlerIsNotReentered(kind: Kind) async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.add(
      handler(kind) { number in
        if number < 5 { event.post(number + 1) }
        seen.record(number)
      })
    event.post(1)
    #expect(seen.values == [1, 2, 3, 4, 5])
  }

  @Test func attemptsFollowAtOnceOrAfterTheirDelay() async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<Int>())
    let policies = [
      RetryPolicy.immediately(attempts: 2), .exponential(from: .seconds(1), to: .seconds(1), attempts: 2),
    ]
    for (index, policy) in policies.enumerated() {
      event.add(
        Handler(.retrying(policy, clock: clock), on: .main) { (number: Int) in
          seen.record(10 * index + number)
          throw Refused()
        })
    }
    event.post(1)
    #expect(seen.values == [1, 1, 11])
    let ticket = event.submit(2)  // the second handler gets 2 only after its second attempt for 1
    #expect(seen.values == [1, 1, 11, 2, 2])
    await clock.advanceWhenIdle(by: .seconds(2))
    #expect(await ticket.report.failures.count == 2)
    #expect(seen.values == [1, 1, 11, 2, 2, 11, 12, 12])
  }

  @Test(arguments: Kind.allCases) func aCallBehindAnotherOneWaits(kind: Kind) async {
    let (event, seen, began) = (Event<Int>(), Recorder<Int>(), Gate())
    event.add(handler(kind) { seen.record($0) })
    await Task.detached {
      event.post(1)
      began.open()
    }.value
    // The main queue may have run the call of 1 meanwhile. It must not run the call of 2 first.
    event.post(2)
    await event.quiesce()
    #expect(seen.values == [1, 2])
  }
}
