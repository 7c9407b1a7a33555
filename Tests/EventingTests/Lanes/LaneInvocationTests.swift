import EventingTesting
import Testing

@testable import Eventing

/// Tests of the end of a call on a lane of units, and of the task in which it runs.
@Suite(.fewAtATime) struct LaneInvocationTests {
  struct Refused: Error {}
  enum Kind: CaseIterable { case direct, retried, failing }

  /// Checks that the call is over when the lane destroys its payload, which is before any sender
  /// learns of the end. A task that the call has started still retains the call's invocation.
  @Test(arguments: Kind.allCases) func aCallIsOverBeforeItsSenderKnows(kind: Kind) async {
    let (event, posted, goesOn) = (Event<Canary>(), Gate(), Gate())
    let (live, wasInCall) = (LiveCount(), Recorder<Bool>())
    let handler = Handler<Canary>(on: .lane(HandlerLane(limit: 2))) { _ async throws in
      await posted.opened()
      Task { await goesOn.opened() }
      if kind == .failing { throw Refused() }
    }
    event.add(kind == .retried ? handler.with(.retrying(.immediately(attempts: 2))) : handler)
    event.post(Canary(live) { wasInCall.record(Invocation.current != nil) })
    posted.open()
    await event.quiesce()
    #expect(wasInCall.values == [false])
    goesOn.open()
  }

  @TaskLocal static var request = 0

  /// All payloads have one key, so the calls run one at a time. Calls 2 and 3 wait until call 1 has
  /// ended.
  @Test(arguments: [false, true]) func aCallThatWaitedForItsKeyIsAChildOfItsSend(isRetried: Bool) async {
    let (event, began, goesOn, seen) = (Event<Int>(), Gate(), Gate(), Recorder<[Int]>())
    let handler = Handler<Int>(.inOrder { $0 % 1 }, on: .task) { number async throws in
      began.open()
      if number == 1 { await goesOn.opened() }
      seen.record([number, Self.request, Task.isCancelled ? 1 : 0])
    }
    event.add(isRetried ? handler.with(.retrying(.immediately(attempts: 2))) : handler)
    let first = Self.$request.withValue(1) { Task { await event.send(1) } }
    await began.opened()
    let others = (2...3).map { number in
      Self.$request.withValue(number) {
        Task {
          unsafe withUnsafeCurrentTask { if number == 3 { unsafe $0?.cancel() } }
          return await event.send(number)
        }
      }
    }
    while await event.handlers()[0].waitingCount < 2 { await Task.yield() }
    goesOn.open()
    #expect(await first.value.delivered == 1)
    for other in others { #expect(await other.value.delivered == 1) }
    #expect(Set(seen.values) == [[1, 1, 0], [2, 2, 0], [3, 3, 1]])
  }

  /// Checks that a deferred call of a `.task` handler is no child task of the send that defers it.
  ///
  /// The `.task` handler of `second` sends each payload to `first`. All its payloads have one key,
  /// so its calls run one at a time. Another handler of `second` waits at a gate for payload 20.
  /// The steps, where each call has the number of its payload:
  ///
  /// 1. Call 1 occupies the lane of `first`.
  /// 2. The test posts 10 to `second`. Call 10 sends 10 to `first`, and waits for that lane.
  /// 3. Call 1 sends 20 to `second`. Call 20 of the `.task` handler must wait until call 10 has
  ///    ended, and call 10 waits for call 1. So the send defers call 20, and waits only for the
  ///    handler at the gate.
  /// 4. The test posts 2 to `first`. Call 10 ends, and call 20 sends 20 to `first`, whose lane call
  ///    1 still occupies.
  ///
  /// If call 20 were a child task of the send of call 1, this send would wait for call 20, and
  /// never return.
  @Test func aCallThatItsSenderHasDeferredIsNotItsChild() async {
    let (first, second, seen) = (Event<Int>(), Event<Int>(), Recorder<Int>())
    let (began, goesOn, slowGoesOn) = (Gate(), Gate(), Gate())
    first.add(
      Handler<Int>(.buffering(.newest(1)), on: .inOrder) { number async throws in
        if number == 1 {
          began.open()
          await goesOn.opened()
          seen.record(await second.send(20).deferred)
        }
      })
    second.add(Handler<Int>(.inOrder { $0 % 1 }, on: .task) { number async throws in await first.send(number) })
    second.addHandler { number async in if number == 20 { await slowGoesOn.opened() } }
    first.post(1)
    await began.opened()
    second.post(10)
    while await first.handlers()[0].waitingCount < 1 { await Task.yield() }
    goesOn.open()
    while await second.handlers()[0].waitingCount < 1 { await Task.yield() }
    first.post(2)  // the lane of `first` drops 10 for 2, so the send in call 10 returns, and call 10 ends
    while await first.handlers()[0].droppedCount < 2 { await Task.yield() }  // until the lane has dropped 2 for 20
    slowGoesOn.open()
    #expect(await eventually { seen.values == [1] })
    await second.quiesce()
  }

  /// Checks a send inside call 1. Both payloads have one key, so call 2 must wait until call 1 has
  /// ended. So the send defers call 2, and returns before call 2 begins. Call 2 is no child task of
  /// the send, and runs later.
  @Test func aCallThatItsSenderDoesNotWaitForRunsAllTheSame() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.add(
      Handler<Int>(.inOrder { $0 % 1 }, on: .task) { number async throws in
        if number == 1 { seen.record(10 * (await event.send(2).deferred)) }
        seen.record(number)
      })
    #expect(await event.send(1).delivered == 1)
    await event.quiesce()
    #expect(seen.values == [10, 1, 2])
  }
}
