#if DEBUG
  import Testing

  @testable import Eventing

  /// The questions of the wait graph, with nodes that say what they like.
  @Suite(.timeLimit(.minutes(1))) struct WaitGraphTests {
    @Test func whatWasBlockedByWhatTurnedOutToBeFreeIsAskedAgain() {
      // A lane with two seats: one waits for a node that waits for the lane, the other is free.
      let (lane, node) = (Node(), Node())
      lane.answer = { question in question.isBlocked(node) && false }
      node.answer = { question in question.isBlocked(lane) }
      var question = WaitGraph.Question(Running(Seat()))
      let answers = [question.isBlocked(lane), question.isBlocked(node)]
      #expect(answers == [false, false])
      (lane.answer, node.answer) = ({ _ in false }, { _ in false })
    }

    @Test func whatWasBlockedIsNotAskedAgain() {
      let (node, asked) = (Node(), Counter())
      node.answer = { _ in asked.add() > 0 }
      var question = WaitGraph.Question(Running(Seat()))
      let answers = (0..<3).map { _ in question.isBlocked(node) }
      #expect(answers == [true, true, true])
      #expect(asked.value == 1)
    }

    @Test func aPartIsJudgedAnewIfTheOneThatWasExcusedIsDone() async {
      // A node's address comes back: that an earlier one there was excused says nothing of the later one.
      let (node, steps, reports) = (Node(), StepExecutor(), Recorder<SendReport>())
      let flight = Context.running.withValue(Running(Seat())) { Flight(.send) }
      node.answer = { _ in true }
      flight.expect(node)
      flight.arrive(node, .delivered)
      node.answer = { _ in false }
      flight.expect(node)
      flight.finishDelivery(SendReport())
      let waiting = Task(executorPreference: steps) { reports.record(await flight.wait()) }
      await steps.run()
      #expect(reports.count == 0)
      flight.arrive(node, .delivered)
      while reports.count == 0, !Task.isCancelled { await steps.run() }
      await waiting.value
      #expect(reports.values.map(\.delivered) == [2])
      #expect(reports.values.map(\.deferred) == [0])
    }
  }

  /// A node of the test's own. `answer` is set before anybody asks.
  private final class Node: WaitNode, @unchecked Sendable {
    var answer: (inout WaitGraph.Question) -> Bool = { _ in false }

    override func isBlocked(_ question: inout WaitGraph.Question) -> Bool { answer(&question) }
  }
#endif
