import Eventing
import EventingTesting
import Testing

/// Tests of guarantees G19 and H3 for keyed events: dead letters and unhandled payloads have the
/// key that the payload was sent to.
@Suite(.fewAtATime) struct KeyedFailureTests {
  struct Refused: Error {}

  @Test(arguments: RetryTests.places) func aHandlerThatFailsIsInTheFailuresAndLeavesALetterWithItsKey(
    place: String
  ) async {
    let (moved, failures, letters) = (KeyedEvent<String, Int>(), Counter(), Recorder<String>())
    moved.failures.addHandler { _ in _ = failures.add() }
    moved.deadLetters.addHandler {
      letters.record("\($0.payload.key) \($0.payload.payload) \($0.failure.attempts)")
    }
    moved["ada"].add(RetryTests.handler(place, .init(failures: 9)).with(.retrying(.immediately(attempts: 2))))
    moved["bob"].add(RetryTests.handler(place, .init(failures: 9)))
    await moved.send(1, to: "ada")
    await moved.send(2, to: "bob")
    await moved.quiesce()
    #expect(letters.values == ["ada 1 2", "bob 2 1"])
    #expect(failures.value == 2)
  }

  @Test(arguments: RetryTests.places) func handlersOfAnyKeyAndBehindViewsLeaveALetterIfThePayloadIsKnown(
    place: String
  ) async {
    let (moved, letters) = (KeyedEvent<String, Int>(), Recorder<String>())
    moved.deadLetters.addHandler { letters.record("\($0.payload.key) \($0.payload.payload)") }
    func failing() -> Handler<Int> { RetryTests.handler(place, .init(failures: 9)) }
    // Views of the key itself: one that keeps the payload, and one that makes another of it.
    moved["ada"].filter { $0 > 0 }.add(failing())
    moved["ada"].map { $0 + 1 }.add(failing())
    await moved.send(1, to: "ada")
    // An inline handler runs while the payload of the event is there, whatever its view made of it.
    #expect(letters.values == (place == "inline" ? ["ada 1", "ada 1"] : ["ada 1"]))
    letters.removeAll()
    moved.anyKey.addHandler { (_: (key: String, payload: Int)) async throws in throw Refused() }
    await moved.send(5, to: "bob")
    #expect(letters.values == ["bob 5"])
  }

  @Test func aPaceAndABatchOfAKeyLeaveLetters() async {
    let (moved, letters, clock) = (KeyedEvent<String, Int>(), Recorder<String>(), ManualClock())
    moved.deadLetters.addHandler { letters.record("\($0.payload.key) \($0.payload.payload)") }
    moved["ada"].addHandler(.debounced(for: .seconds(1), clock: clock)) { _ in throw Refused() }
    moved["bob"].batches(of: 2, within: .seconds(1_000)).addHandler { (_: [Int]) async throws in throw Refused() }
    moved.post(1, to: "ada")
    moved.post(2, to: "bob")
    moved.post(3, to: "bob")
    await moved.quiesce()
    #expect(letters.values.sorted() == ["ada 1", "bob 2", "bob 3"])
  }

  @Test func anOccurrenceThatReachesNoHandlerOfItsKeyIsUnheard() async {
    let (moved, unhandled) = (KeyedEvent<String, Int>("moved"), Recorder<String>())
    moved["ada"].addHandler { _ in }
    moved.unhandled.addHandler {
      unhandled.record("\($0.eventName ?? "") \($0.payload.key) \($0.payload.payload)")
    }
    moved.post(1, to: "ada")
    moved.post(2, to: "bob")
    await moved.quiesce()
    #expect(unhandled.values == ["moved bob 2"])
    moved.anyKey.addHandler { _, _ in }
    await moved.send(4, to: "bob")
    #expect(unhandled.count == 1)
  }

  @Test func thePolicyOfAKeyedEventRemovesAHandlerThatFails() async {
    let (moved, calls) = (KeyedEvent<String, Int>("moved", onFailure: .removeHandler(afterFailures: 2)), Counter())
    moved["ada"].addHandler { _ in
      _ = calls.add()
      throw Refused()
    }
    for number in 1...3 { await moved.send(number, to: "ada") }
    #expect(calls.value == 2 && moved.handlerCount == 0)
  }
}
