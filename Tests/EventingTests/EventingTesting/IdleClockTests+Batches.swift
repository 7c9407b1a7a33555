import Eventing
import EventingTesting
import Testing

extension IdleClockTests {
  private struct Refused: Error {}

  /// Checks that the clock does not move while the call of a full batch runs.
  ///
  /// Two payloads fill the batch before its time limit of 60 s. So the call begins without a wait
  /// for the clock.
  ///
  /// - Parameters:
  ///   - isKeyed: Whether the batch has a key.
  ///   - isRetried: Whether the running call is a second attempt, after a delay of 1 s.
  @Test(arguments: [false, true], [false, true])
  func theCallOfAFullBatchHoldsTheClock(isKeyed: Bool, isRetried: Bool) async {
    let (event, clock, gate, seen) = (Event<Int>(), ManualClock(), Gate(), Recorder<Duration>())
    let attempts = Counter()
    var handler = Handler<[Int]>(on: .concurrent(limit: 2)) { _ in
      attempts.add()
      if isRetried, attempts.value == 1 { throw Refused() }
      await gate.opened()
      seen.record(clock.now.offset)
    }.batched(of: 2, within: .seconds(60), clock: clock)
    if isKeyed { handler = handler.with(.inOrder { $0 % 1 }) }
    if isRetried {
      handler = handler.with(.retrying(.exponential(from: .seconds(1), to: .seconds(1), attempts: 2), clock: clock))
    }
    event.add(handler)
    event.post(1)
    event.post(2)
    async let advanced: Void = clock.advanceWhenIdle(by: .seconds(600))
    #expect(await eventually { attempts.value == (isRetried ? 2 : 1) })
    for _ in 0..<1_000 { await Task.yield() }
    let stopped = clock.now.offset
    #expect(stopped <= .seconds(1))
    gate.open()
    await advanced
    #expect(seen.values == [stopped])
  }
}
