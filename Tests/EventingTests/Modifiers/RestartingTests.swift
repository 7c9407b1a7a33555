import Eventing
import EventingTesting
import Testing

/// Tests of guarantee H11 of PROOF.md: a new occurrence cancels the running call.
@Suite(.fewAtATime) struct RestartingTests {
  @Test(arguments: [false, true]) func aNewOccurrenceCancelsTheCallThatRuns(isOnMain: Bool) async {
    let (event, clock, seen) = (Event<Int>(), ManualClock(), Recorder<String>())
    let body: @Sendable (Int) async throws -> Void = { payload in
      seen.record("\(payload) begins")
      do {
        if payload < 3 { try await clock.sleep(for: .seconds(1)) }
        seen.record("\(payload) ends")
      } catch { seen.record("\(payload) is cancelled") }
    }
    if isOnMain {
      event.addHandler(.cancellingPrevious, on: .main) { payload async throws in try await body(payload) }
    } else {
      event.addHandler(.cancellingPrevious, on: .inOrder, perform: body)
    }
    async let first = event.send(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    async let second = event.send(2)
    #expect(await first.dropped == 1)  // a cancelled call counts as dropped, although it returned without an error
    #expect(await eventually { clock.sleeperCount == 1 })
    #expect(await event.send(3).delivered == 1)
    #expect(await second.dropped == 1)
    #expect(
      seen.values == ["1 begins", "1 is cancelled", "2 begins", "2 is cancelled", "3 begins", "3 ends"])
    #expect(await event.handlers().map(\.droppedCount) == [2])
  }

  @Test func theNextCallBeginsWhenTheCancelledOneHasReturnedAndOnlyTheNewestWaits() async {
    let (event, gate, seen, sent) = (Event<Int>(), Gate(), Recorder<Int>(), Recorder<Int>())
    event.addHandler { sent.record($0) }
    event.addHandler(.cancellingPrevious) { payload in
      seen.record(payload)
      if payload == 1 { await Task.detached { await gate.opened() }.value }  // ignores cancellation
    }
    event.post(1)
    #expect(await eventually { seen.count == 1 })
    async let replaced = event.send(2)
    #expect(await eventually { sent.count == 2 })
    async let last = event.send(3)
    #expect(await replaced.dropped == 1)
    #expect(seen.values == [1])
    gate.open()
    #expect(await last.delivered == 2)
    #expect(seen.values == [1, 3])
  }

  @Test func aNewOccurrenceEndsTheDelayBeforeAnotherAttempt() async {
    let (event, clock, unsteady) = (Event<Int>(), ManualClock(), RetryTests.Unsteady(failures: 1))
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(1), attempts: 2, jitter: false)
    event.add(RetryTests.handler("inOrder", unsteady).with(.retrying(policy, clock: clock)).with(.cancellingPrevious))
    let first = event.submit(1)
    #expect(await eventually { clock.sleeperCount == 1 })
    event.post(2)
    #expect(await first.report.dropped == 1)
    #expect(await eventually { unsteady.attempts.count == 2 })
    #expect(unsteady.attempts.values == [1, 2])
    event.removeAll()
  }

  @Test(arguments: ["concurrent", "task", "lane"]) func callsOfARestartingHandlerDoNotOverlap(place: String) async {
    let (event, running, gate) = (Event<Int>(), RunningCalls(), Gate())
    let delivery: AsyncDelivery =
      switch place {
      case "concurrent": .concurrent(limit: 4)
      case "task": .task
      default: .lane(HandlerLane(limit: 4))
      }
    event.add(
      Handler(.cancellingPrevious, on: delivery) { _ async throws in
        running.begin()
        await Task.detached { await gate.opened() }.value  // ignores cancellation
        running.end()
      })
    for payload in 0..<8 { event.post(payload) }
    for _ in 0..<200 { await Task.yield() }
    gate.open()
    await event.quiesce()
    #expect(running.most == 1)
  }

  @Test(arguments: ["concurrent", "task", "lane", "keys"])
  func onlyTheNewestWaitsWhereverCallsRun(place: String) async {
    let (event, gate, seen, sent) = (Event<Int>(), Gate(), Recorder<Int>(), Recorder<Int>())
    let delivery: AsyncDelivery =
      switch place {
      case "task": .task
      case "lane": .lane(HandlerLane(limit: 4))
      default: .concurrent(limit: 4)
      }
    let handler = Handler(.cancellingPrevious, on: delivery) { payload async throws in
      seen.record(payload)
      if payload == 1 { await Task.detached { await gate.opened() }.value }  // ignores cancellation
    }
    event.add(place == "keys" ? handler.with(.inOrder { $0 }) : handler)
    event.addHandler { sent.record($0) }  // called after the lane of the restarting handler has taken the payload
    let first = event.submit(1)
    #expect(await eventually { seen.count == 1 })
    let replaced = Task { await event.send(2) }
    #expect(await eventually { sent.count == 2 })
    let last = Task { await event.send(3) }
    #expect(await eventually { sent.count == 3 })
    for _ in 0..<200 { await Task.yield() }
    #expect(seen.values == [1])
    gate.open()
    #expect(await replaced.value.dropped == 1)
    #expect(await last.value.delivered == 2)
    #expect(await first.report.dropped == 1)
    #expect(seen.values == [1, 3])
  }

  /// Checks a post that cancels a call whose cancellation handler blocks. The post must go on to
  /// the handlers that follow.
  @Test func aCancellationHandlerThatBlocksStopsNoPost() async {
    let (event, gate, cancelled, block, seen) = (Event<Int>(), Gate(), Gate(), Gate(), Recorder<Int>())
    let began = Gate()
    event.addHandler(.cancellingPrevious) { payload in
      guard payload == 1 else { return }
      await withTaskCancellationHandler {
        began.open()
        // A detached task ignores the cancellation, so this body does not return before `gate`
        // opens. If the body returned at the cancellation, `withTaskCancellationHandler` would wait
        // until `onCancel` returns. `onCancel` waits for `block`, so a thread of Swift's pool would
        // be blocked.
        await Task.detached { await gate.opened() }.value
      } onCancel: {
        cancelled.open()
        block.wait()
      }
    }
    event.addHandler { seen.record($0) }
    event.post(1)
    await began.opened()
    let poster = startThread { event.post(2) }
    await cancelled.opened()
    #expect(await eventually { seen.values == [1, 2] })
    block.open()
    gate.open()
    await poster.opened()
    await event.quiesce()
  }

  private final class PayloadWithAction: Sendable {
    let number: Int
    private let onRelease: @Sendable () -> Void

    init(_ number: Int, onRelease: @escaping @Sendable () -> Void = {}) {
      (self.number, self.onRelease) = (number, onRelease)
    }

    deinit { onRelease() }
  }

  /// Checks that a post does not end the delay of its own occurrence.
  ///
  /// Post 3 drops the waiting payload 2. The `deinit` of payload 2 lets call 1 end. So call 3
  /// begins, fails, and waits for its retry before post 3 has returned.
  @Test func aPostEndsNoDelayButThatOfTheCallItReplaces() async {
    let (event, clock, gate, seen) = (Event<PayloadWithAction>(), ManualClock(), Gate(), Recorder<Int>())
    let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(1), attempts: 2, jitter: false)
    event.add(
      Handler(.retrying(policy, clock: clock), .cancellingPrevious) { parcel async throws in
        seen.record(parcel.number)
        if parcel.number == 3 { throw RetryTests.Refused() }
        await Task.detached { await gate.opened() }.value  // ignores cancellation
      })
    event.post(PayloadWithAction(1))
    #expect(await eventually { seen.count == 1 })
    await startThread {
      event.post(
        PayloadWithAction(2) {
          gate.open()
          for _ in 0..<10_000_000 where clock.sleeperCount == 0 { giveWay() }
        })
      event.post(PayloadWithAction(3))
    }.opened()
    #expect(clock.sleeperCount == 1 && seen.values == [1, 3])
    event.removeAll()
  }

  @Test func removingTheHandlerCancelsNoCall() async {
    let (event, gate, isCancelled, began) = (Event<Int>(), Gate(), Recorder<Bool>(), Gate())
    let token = event.addHandler(.cancellingPrevious) { _ in
      began.open()
      await gate.opened()
      isCancelled.record(Task.isCancelled)
    }
    async let report = event.send(1)
    await began.opened()
    event.remove(token)
    gate.open()
    #expect(await report.delivered == 1)
    #expect(isCancelled.values == [false])
  }
}
