#if DEBUG
  import Testing

  @testable import Eventing

  /// Tests of cycle searches in the wait graph. A search asks each node what the node waits for
  /// (`needs(_:)`). The tests set the answers.
  @Suite(.fewAtATime) struct WaitGraphTests {
    @Test func nodeBlockedOnlyByANodeThatTurnedOutFreeIsSearchedAgain() {
      // The lane has two slots. One waits for a node that waits for the lane, and one is free.
      let (lane, node) = (Node(), Node())
      lane.answer = { .all([node, Node()]) }
      node.answer = { .any([lane]) }
      var question = WaitGraph.CycleSearch(Invocation(ExecutionSlot()))
      let answers = [question.isBlocked(lane), question.isBlocked(node)]
      #expect(answers == [false, false])
      (lane.answer, node.answer) = ({ .free }, { .free })
    }

    @Test func blockedNodeIsNotSearchedAgain() {
      let (node, asked) = (Node(), Counter())
      node.answer = {
        asked.add()
        return .blocked
      }
      var question = WaitGraph.CycleSearch(Invocation(ExecutionSlot()))
      let answers = (0..<3).map { _ in question.isBlocked(node) }
      #expect(answers == [true, true, true])
      #expect(asked.value == 1)
    }

    @Test(arguments: [false, true]) func aChainOfWaitsMayBeLongerThanTheStackIsDeep(isBlocked: Bool) {
      let nodes = (0...100_000).map { _ in Node() }
      for (node, next) in zip(nodes, nodes.dropFirst()) { node.answer = { .any([next]) } }
      nodes[100_000].answer = { isBlocked ? .blocked : .free }
      var question = WaitGraph.CycleSearch(Invocation(ExecutionSlot()))
      let answer = question.isBlocked(nodes[0])
      #expect(answer == isBlocked)
      for node in nodes { node.answer = { .free } }  // breaks the chain, so that releasing it does not recurse
    }

    @Test func aSendThatOutlivesItsCallLeavesNothingBehind() async {
      let running = Invocation(ExecutionSlot())
      let completion = Context.invocation.withValue(running) { Completion(.send) }
      running.end()
      completion.finishDelivery(SendReport())
      _ = await completion.wait()
      #expect(running.executionSlot.waitCount == 0)
    }

    @Test func failurePolicyForgetsHandlersThatHaveEnded() {
      struct Refused: Error {}
      let event = Event<Int>(onFailure: .removeHandler(afterFailures: 2))
      for _ in 0..<100 {
        let token = event.addHandler { _ in throw Refused() }
        event.post(0)
        event.remove(token)
        event.once { _ in throw Refused() }
        event.post(0)
      }
      #expect(event.core.anchor.failures().counts.isEmpty)
    }

    @Test func outstandingWorkIsJudgedAnewAfterDeferredWorkAtItsAddressIsDone() async {
      // A new wait node may have the address of a released one. Here the object `node` plays both
      // nodes. The completion defers the first node, because that node is blocked. For the second
      // node, it must ask again whether the node is blocked. The second node is not, so the
      // completion must wait for it.
      let (node, steps, reports) = (Node(), StepExecutor(), Recorder<SendReport>())
      let completion = Context.invocation.withValue(Invocation(ExecutionSlot())) { Completion(.send) }
      node.answer = { .blocked }
      completion.expect(node)
      completion.arrive(node, .delivered)
      node.answer = { .free }
      completion.expect(node)
      completion.finishDelivery(SendReport())
      let waiting = Task(executorPreference: steps) { reports.record(await completion.wait()) }
      await steps.run()
      #expect(reports.count == 0)
      completion.arrive(node, .delivered)
      while reports.count == 0, !Task.isCancelled { await steps.run() }
      await waiting.value
      #expect(reports.values.map(\.delivered) == [2])
      #expect(reports.values.map(\.deferred) == [0])
    }
  }

  /// A wait node of the test. A search for a cycle in the graph of waits asks it by `needs(_:)`.
  /// The test sets `answer` before each such search.
  private final class Node: WaitNode, @unchecked Sendable {
    var answer: () -> WaitNeeds = { .free }

    override func needs(_ goal: Invocation) -> WaitNeeds { answer() }
  }
#endif
