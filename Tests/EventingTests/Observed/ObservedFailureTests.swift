import Eventing
import EventingTesting
import Testing

/// Tests of guarantees G19 and H3 for observed values.
@Suite(.fewAtATime) struct ObservedFailureTests {
  struct Refused: Error {}

  @Test func handlersThatFailAreInTheFailuresAndLeaveLetters() async {
    let (volume, failures, letters) = (Observed(0), Counter(), Recorder<ValueChange<Int>>())
    volume.failures.addHandler { _ in _ = failures.add() }
    volume.deadLetters.addHandler { letters.record($0.payload) }
    volume.changes().addHandler { (_: ValueChange<Int>) async throws in throw Refused() }
    volume.value = 1
    await volume.quiesce()
    #expect(letters.values == [ValueChange(old: 0, new: 1)])
    volume.removeAll()
    volume.newValues.addHandler { (_: Int) async throws in throw Refused() }  // receives no old value
    volume.value = 2
    await volume.quiesce()
    #expect(letters.values.last == ValueChange(old: nil, new: 2))
    #expect(failures.value == 2)
  }

  @Test func aChangeThatReachesNoHandlerIsUnheard() async {
    let (volume, unhandled) = (Observed(0), Recorder<ValueChange<Int>>())
    volume.unhandled.addHandler { unhandled.record($0.payload) }
    volume.value = 1
    // The announcement of the next change reaches a handler; the change itself reaches none.
    let token = volume.changes(prior: true).addHandler { change in if change.isPrior { volume.removeAll() } }
    volume.value = 2
    await volume.quiesce()
    #expect(unhandled.values == [ValueChange(old: 0, new: 1), ValueChange(old: 1, new: 2)])
    #expect(!volume.contains(token))
  }

  @Test func thePolicyOfAValueRemovesAHandlerThatFails() {
    struct Player: Sendable { @Observed(onFailure: .removeHandler(afterFailures: 1)) var volume = 0 }
    let (player, calls) = (Player(), Counter())
    for values in [player.$volume, Observed(0, onFailure: .removeHandler(afterFailures: 1))] {
      values.addHandler { _ in
        _ = calls.add()
        throw Refused()
      }
      values.value = 1
      values.value = 2
      #expect(values.handlerCount == 0)
    }
    #expect(calls.value == 2)
  }
}
