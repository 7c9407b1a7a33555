import Testing

@testable import Eventing

/// Tests of the queue of delayed work alone. Its timer never rings: the test itself fires the work.
@Suite(.fewAtATime) struct TimerQueueTests {
  private struct StillTimer: DelayTimer {
    var now: Duration { .zero }
    var stopsWhenUnused: Bool { false }
    func set(_ deadline: Duration, _ queue: TimerQueue) {}
    func stop() {}
    func measures(_ clock: any Clock<Duration>) -> Bool { false }
    var idleAwareClock: (any IdleAwareClock)? { nil }
  }

  @TaskLocal private static var isInTimer = false

  /// Checks that the thread which runs the timers' actions does not release them. An action retains
  /// the closures and keys of a handler. So its release may run a user's `deinit`, which must not
  /// hold up the timer.
  @Test func theThreadOfTheTimerDoesNotReleaseActionsThatItHasRun() async {
    let (queue, live, calls) = (TimerQueue(StillTimer()), LiveCount(), Recorder<Bool>())
    let releases = Recorder<Bool>()
    for _ in 0..<3 {
      let canary = Canary(live) { releases.record(Self.isInTimer) }
      Delay(queue) {
        canary.sing()
        calls.record(Self.isInTimer)
      }.start(after: .zero)
    }
    Self.$isInTimer.withValue(true) { if queue.beginFiring() { while queue.fireSome() > 0 {} } }
    #expect(await eventually { live.alive == 0 })
    #expect(calls.values == [true, true, true] && releases.values == [false, false, false])
  }
}
