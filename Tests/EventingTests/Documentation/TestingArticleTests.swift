import Eventing
import EventingTesting
import Testing

/// Runs the examples of the article "Testing events".
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct TestingArticleTests {
  // swift-format-ignore
  actor Download {
    nonisolated let progress = Event<Double>("progress")
    private var received = 0

    func receive(_ bytes: Int, of total: Int) {
      received += bytes
      progress.post(Double(received) / Double(total))
    }
  }

  // swift-format-ignore
  @Test func recordingAndTime() async throws {
    let download = Download()
    let recorder = EventRecorder(download.progress)
    await download.receive(50, of: 100)
    await download.receive(50, of: 100)
    try await recorder.expect([0.5, 1])          // waits for them, for ten seconds if need be
    try await recorder.expectNone()              // all that was sent has been delivered, and nothing else came

    let clock = ManualClock()
    async let half = download.progress.next(within: .seconds(2), clock: clock) { fraction in fraction >= 0.5 }
    while clock.sleeperCount == 0 { await Task.yield() }
    clock.advance(by: .seconds(2))
    let isLate = (try? await half) == nil        // at once

    #expect(isLate)
  }

  // swift-format-ignore
  @Test func everyOrder() throws {
    try Simulation.run(seeds: 1...200) {
      let download = Download()
      let recorder = EventRecorder(download.progress)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { await download.receive(25, of: 100) } }
      }
      try await recorder.expect([0.25, 0.5, 0.75, 1], clock: Simulation.clock)
    }
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "TestingArticleTests")
    let code = try Documentation.examples(Documentation.article("Testing.md"))
    #expect(code.count == 4)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in TestingArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
