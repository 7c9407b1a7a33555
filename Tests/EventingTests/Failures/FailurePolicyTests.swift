import Dispatch
import Eventing
import Testing

/// Tests of guarantee G19: `failures` delivers the errors of handlers, and a policy decides their
/// effect.
@Suite(.fewAtATime) struct FailurePolicyTests {
  struct Odd: Error, Equatable { var number: Int }

  @Test(arguments: BoundedLane.allCases) func errorsOnLanesAreInFailures(lane: BoundedLane) async {
    let (event, seen) = (Event<Int>(), Recorder<String>())
    event.failures.addHandler { seen.record("\($0)") }
    event.add(lane.throwing { if $0 % 2 == 1 { throw Odd(number: $0) } }.with(.named("odd")))
    for number in 1...4 { await event.send(number) }
    #expect(seen.values == ["odd: Odd(number: 1)", "odd: Odd(number: 3)"])
  }

  @Test func failuresArriveWhenTheyAreThrown() async {
    let (event, seen) = (Event<Int>(), Recorder<String>())
    let failures = event.failures.payloads()
    event.addHandler(.named("first")) { number in
      seen.record("first")
      throw Odd(number: number)
    }
    event.addHandler { _ in seen.record("second") }
    event.failures.addHandler { seen.record("failed \($0.handler.name ?? "")") }
    event.post(1)
    #expect(seen.values == ["first", "failed first", "second"])
    let report = await event.send(2)
    #expect(report.failures.map { $0.error as? Odd } == [Odd(number: 2)])
    let failure = #expect(throws: HandlerFailure.self) { try report.throwIfFailed() }
    #expect(failure?.error as? Odd == Odd(number: 2))
    #expect(await SequenceTests.take(2, of: failures).map { $0.error as? Odd } == [Odd(number: 1), Odd(number: 2)])
  }

  @Test func aHandlerOfFailuresMayThrowAndPost() async {
    let (event, seen) = (Event<Int>(), Counter())
    event.addHandler { throw Odd(number: $0) }
    event.failures.addHandler { [weak event] failure in
      if seen.add() < 100 { event?.post(seen.value) }
      throw failure.error
    }
    event.post(0)
    #expect(seen.value == 100)
  }

  @Test(arguments: [false, true]) func aStopKeepsTheOccurrenceFromTheRest(isAwaited: Bool) async {
    let (event, seen) = (Event<Int>("stops", onFailure: .skipLaterHandlers), Recorder<String>())
    event.addHandler(.priority(2), on: .background) { _ in throw Odd(number: 0) }  // throws too late to stop it
    event.addHandler { seen.record("before \($0)") }
    event.addHandler { if $0 == 1 { throw Odd(number: $0) } }
    event.addHandler { seen.record("after \($0)") }
    event.addHandler(.priority(-1), on: .background) { seen.record("lane \($0)") }
    if isAwaited {
      let report = await event.send(1)
      #expect((report.delivered, report.skipped, report.failures.count) == (1, 2, 2))
    } else {
      event.post(1)
    }
    await event.send(2)
    #expect(seen.values == ["before 1", "before 2", "after 2", "lane 2"])
  }

  @Test func aStopAtTheFirstOfInlineHandlersStops() async {
    let (event, seen) = (Event<Int>(onFailure: .skipLaterHandlers), Recorder<Int>())
    event.addHandler { if $0 == 1 { throw Odd(number: $0) } }
    for _ in 0..<3 { event.addHandler { seen.record($0) } }
    event.post(1)
    #expect(seen.values == [])
    #expect(await event.send(1).skipped == 3)
    #expect(await event.send(2).delivered == 4)
    #expect(await event.handlers().map(\.skippedCount) == [0, 2, 2, 2])
  }

  @Test(arguments: [-1, 1, 3]) func aHandlerIsRemovedWhenItHasThrownAsOftenAsThePolicySays(count: Int) async {
    let (event, calls) = (Event<Int>(onFailure: .removeHandler(afterFailures: count)), Recorder<String>())
    event.addHandler { number in
      calls.record("inline")
      throw Odd(number: number)
    }
    event.addHandler { (number: Int) async throws in
      calls.record("lane")
      if number > 0 { throw Odd(number: number) }
    }
    event.addHandler { _ in }
    for number in 0..<10 { await event.send(number) }
    #expect(calls.values.count { $0 == "inline" } == max(1, count))
    #expect(calls.values.count { $0 == "lane" } == max(1, count) + 1)
    #expect(event.handlerCount == 1)
  }

  @Test func theDescriptionOfAPolicyNamesThePolicy() {
    #expect(
      [FailurePolicy.collect, .skipLaterHandlers, .removeHandler(afterFailures: 3)].map(\.description) == [
        "collect", "skipLaterHandlers", "removeHandler(afterFailures: 3)",
      ])
  }
}

extension BoundedLane {
  func throwing(_ body: @escaping @Sendable (Int) throws -> Void) -> Handler<Int> {
    switch self {
    case .background: Handler(on: .background, perform: body)
    case .queue: Handler(on: .queue(DispatchQueue(label: "throwing")), perform: body)
    case .inOrder: Handler { (number: Int) async throws in try body(number) }
    case .backgroundAsync: Handler(on: .inOrder(priority: .utility)) { (number: Int) async throws in try body(number) }
    case .concurrent: Handler(on: .concurrent(limit: 1)) { (number: Int) async throws in try body(number) }
    case .main: Handler(on: .main) { try body($0) }
    case .mainAsync: Handler(on: .main) { (number: Int) async throws in try body(number) }
    }
  }
}
