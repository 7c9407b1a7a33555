import Eventing
import EventingInspection
import EventingTesting
import Testing

/// Tests of guarantee S8: a replay keeps the recorded times.
@Suite struct TimesTests {
  /// Returns a recorder of the times at which an event delivers, on the clock of the simulation.
  private static func times(of event: Event<Int>) -> EventRecorder<Duration> {
    let told = Event<Duration>()
    let recorder = EventRecorder(told)
    let (clock, start) = (Simulation.clock, Simulation.clock.now)
    event.addHandler { _ in told.post(start.duration(to: clock.now)) }
    return recorder
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func aReplayKeepsTheTimes(seed: UInt64) throws {
    let file = TemporaryFile()
    let gaps = [Duration.milliseconds(1), .seconds(3), .zero, .microseconds(7), .seconds(600)]
    let (recorded, replayed) = (Guarded<[Duration]>([]), Guarded<[Duration]>([]))
    try Simulation.run(seed: seed) {
      let event = Event<Int>()
      let recorder = TimesTests.times(of: event)
      let recording = try EventRecording(to: file.path, clock: Simulation.clock)
      recording.record(event, as: "numbers")
      event.post(0)
      for (number, gap) in gaps.enumerated() {
        try await Simulation.clock.sleep(for: gap)
        event.post(number + 1)
      }
      #expect(try await recording.end() == gaps.count + 1)
      let times = recorder.payloads
      recorded.withLock { $0 = times }
    }
    try Simulation.run(seed: seed) {
      let event = Event<Int>()
      let recorder = TimesTests.times(of: event)
      _ = try await EventPlayback(file.path).run(
        at: .asRecorded, into: ["numbers": .event(event)], clock: Simulation.clock)
      let times = recorder.payloads
      replayed.withLock { $0 = times }
    }
    let total = gaps.reduce(Duration.zero, +)
    let (times, again) = (recorded.withLock { $0 }, replayed.withLock { $0 })
    #expect(times == again && times.count == 6 && times.last == total, "\(times)")
  }
}
