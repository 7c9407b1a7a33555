import Testing

@testable import Eventing

/// Tests of the queue of delayed work alone, with a timer that rings when the test says so.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct DelayQueueTests {
  private struct StillTimer: DelayTimer {
    var now: Duration { .zero }
    var stopsWhenUnused: Bool { false }
    func set(_ deadline: Duration, _ queue: DelayQueue) {}
    func stop() {}
    func measures(_ clock: any Clock<Duration>) -> Bool { false }
    var idleAwareClock: (any IdleAwareClock)? { nil }
  }

  @TaskLocal private static var isInTimer = false

  /// An action retains the closures and keys of a handler, whose `deinit` is the code of the user.
  @Test func theThreadOfTheTimerDoesNotReleaseActionsThatItHasRun() async {
    let (queue, live, calls) = (DelayQueue(StillTimer()), LiveCount(), Recorder<Bool>())
    let releases = Recorder<Bool>()
    for _ in 0..<3 {
      let canary = Canary(live) { releases.record(Self.isInTimer) }
      UnitTimer(queue) {
        canary.sing()
        calls.record(Self.isInTimer)
      }.start(after: .zero)
    }
    Self.$isInTimer.withValue(true) { if queue.beginFiring() { while queue.fireSome() > 0 {} } }
    #expect(await eventually { live.alive == 0 })
    #expect(calls.values == [true, true, true] && releases.values == [false, false, false])
  }
}
