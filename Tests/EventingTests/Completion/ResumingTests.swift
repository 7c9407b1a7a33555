import Dispatch
import Eventing
import Testing

/// Tests that no posting thread waits for a cancellation handler, and that a task which has waited
/// for an event finds it idle (G5, G20).
@Suite(.fewAtATime) struct ResumingTests {
  @Test func aPostThatEndsTheWaitOfASendDoesNotWaitForItsCancellationHandler() async {
    let (event, begun, mayEnd) = (Event<Int>(), Gate(), Gate())
    event.addHandler(.buffering(.newest(1)), on: .queue(DispatchQueue(label: "test"))) { _ in
      begun.open()
      mayEnd.wait()
    }
    event.post(0)
    await begun.opened()
    let (isCancelling, hasPosted) = (Gate(), Gate())
    let sender = Task {
      await withTaskCancellationHandler {
        await event.send(1)
      } onCancel: {
        isCancelling.open()
        hasPosted.wait()  // as if it wanted a lock that the poster holds
      }
    }
    while await event.handlers().first?.waitingCount != 1 { await Task.yield() }
    let canceller = startThread { sender.cancel() }
    await isCancelling.opened()
    await startThread {
      event.post(2)  // drops occurrence 1, so the send of that one is over
      hasPosted.open()
    }.opened()
    #expect(await sender.value.dropped == 1)
    mayEnd.open()
    await canceller.opened()
    await event.quiesce()
  }

  @Test func aRemovalThatEndsTheWaitOfASendDoesNotWaitForItsCancellationHandler() async {
    let event = Event<Int>()
    let payloads = event.payloads(buffering: .suspendingSender(1))
    event.post(0)
    let (isCancelling, hasEnded) = (Gate(), Gate())
    let sender = Task {
      await withTaskCancellationHandler {
        await event.send(1)
      } onCancel: {
        isCancelling.open()
        hasEnded.wait()
      }
    }
    while await event.handlers().first?.waitingCount != 2 { await Task.yield() }
    let canceller = startThread { sender.cancel() }
    await isCancelling.opened()
    await startThread {
      event.removeAll()
      hasEnded.open()
    }.opened()
    #expect(await sender.value.delivered == 1)
    await canceller.opened()
    withExtendedLifetime(payloads) {}
  }

  @Test func aPostUnderALockThatCancellationHandlersOfLoopsTakeReturns() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let lock = ConditionLock(0)
      for _ in 0..<60 {
        let (event, begun) = (Event<Int>(), Counter())
        let payloads = event.payloads()
        let loops = (0..<16).map { _ in
          Task {
            await withTaskCancellationHandler {
              var iterator = payloads.makeAsyncIterator()
              begun.add()
              while await iterator.next(isolation: #isolation) != nil {}
            } onCancel: {
              lock.withLock { $0 += 1 }
            }
          }
        }
        while begun.value < loops.count { await Task.yield() }
        let (canceller, poster) = (
          startThread { for loop in loops.reversed() { loop.cancel() } },
          startThread { for number in 0..<8 { lock.withLock { _ in event.post(number) } } }
        )
        await canceller.opened()
        await poster.opened()
        for loop in loops { await loop.value }
      }
    }
  }

  // MARK: An idle event

  @Test(arguments: [false, true]) func aPostAfterALookIsDeliveredBeforeItReturns(isObserved: Bool) async {
    var late = 0
    for _ in 0..<4_000 {
      let (event, calls) = (Event<Int>(replaying: isObserved ? .last(1) : .none), Counter())
      event.addHandler { _ in calls.add() }
      _ = await event.handlers()
      event.post(1)
      if calls.value == 0 { late += 1 }
      await event.isolatedCall()
      event.post(2)
      if calls.value < 2 { late += 1 }
      await event.quiesce()
    }
    #expect(late == 0)
  }

  @Test(arguments: [true, false]) func aPostAfterAWaitForABusyEventIsDeliveredBeforeItReturns(isSend: Bool) async {
    var late = 0
    for _ in 0..<1_000 {
      let (event, calls, inside, mayLeave) = (Event<Int>(), Counter(), Gate(), Gate())
      event.addHandler { number in
        calls.add()
        guard number == 0 else { return }
        inside.open()
        mayLeave.wait()
      }
      let poster = startThread { event.post(0) }
      await inside.opened()
      let opener = startThread { mayLeave.open() }
      if isSend { await event.send(1) } else { await event.quiesce() }
      let before = calls.value
      event.post(2)
      if calls.value == before { late += 1 }
      await poster.opened()
      await opener.opened()
    }
    #expect(late == 0)
  }
}

extension Event {
  fileprivate func isolatedCall() {}
}
