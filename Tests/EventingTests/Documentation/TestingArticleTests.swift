import Eventing
import EventingTesting
import Testing

/// Runs the examples of the article "Testing events".
@Suite(.fewAtATime) struct TestingArticleTests {
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
  @Test func recording() async throws {
    let download = Download()
    let recorder = EventRecorder(download.progress)
    await download.receive(50, of: 100)
    await download.receive(50, of: 100)
    try await recorder.expect([0.5, 1])          // waits for them, for ten seconds if need be
    try await recorder.expectNone()              // all that was sent has been delivered, and nothing else came

  }

  // swift-format-ignore
  @Test func time() async throws {
    let clock = ManualClock()
    let reminder = Event<String>("reminder")
    let reminders = EventRecorder(reminder)
    reminder.post("your cart", after: .seconds(3_600), clock: clock)
    await clock.advanceWhenIdle(by: .seconds(3_599))
    try await reminders.expectNone()
    await clock.advanceWhenIdle(by: .seconds(1))
    try await reminders.expect(["your cart"])    // an hour later, at once

    let download = Download()
    async let half = download.progress.next(within: .seconds(2), clock: clock) { fraction in fraction >= 0.5 }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(2))
    let isLate = (try? await half) == nil        // at once

    #expect(isLate)
  }

  // swift-format-ignore
  @Test func modifiers() async {
    let (calls, failures) = (Recorder<String>(), Counter())
    @Sendable func bill(_ order: String) throws {
      failures.add()
      if failures.value < 3 { throw Wrong() }
      calls.record("billed \(order)")
    }
    @Sendable func show(_ order: String) { calls.record("shown \(order)") }
    @Sendable func list(_ order: String) { calls.record("listed \(order)") }
    @Sendable func store(_ batch: [String]) { calls.record("stored \(batch)") }

    let clock = ManualClock()
    let orders = Event<String>("orders")
    orders.addHandler(
      .retrying(.exponential(from: .seconds(1), to: .seconds(60), attempts: 3, jitter: false), clock: clock),
      .timingOut(after: .seconds(5), clock: clock)
    ) { order async throws in try bill(order) }
    orders.addHandler(.debounced(for: .milliseconds(300), clock: clock)) { order in show(order) }
    orders.addHandler(.throttled(every: .milliseconds(100), clock: clock)) { order in list(order) }
    orders.batches(of: 100, within: .seconds(2), clock: clock).addHandler { batch in store(batch) }
    orders.post("tea")
    await clock.advanceWhenIdle(by: .seconds(3))  // starts attempts 2 and 3 of bill, one call of show, and one batch
    await clock.waitUntilIdle()

    #expect(calls.values == ["listed tea", "shown tea", "stored [\"tea\"]", "billed tea"])
  }

  // swift-format-ignore
  @Test func everyOrder() throws {
    try Simulation.run(seeds: 1...200) {
      let download = Download()
      let recorder = EventRecorder(download.progress)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { await download.receive(25, of: 100) } }
      }
      try await recorder.expect([0.25, 0.5, 0.75, 1])
    }
  }

  struct Wrong: Error {}

  // swift-format-ignore
  @MainActor final class ProgressBar {
    var fraction = 0.0

    func follow(_ download: Download) {
      download.progress.addHandler(on: .main) { fraction async in
        await self.redraw()
        self.fraction = fraction
      }
    }
    func redraw() async { await Task.yield() }
  }

  // swift-format-ignore
  @Test(.enabled(if: Simulation.includesAllTasks)) func mainActor() throws {
    try Simulation.run(seeds: 1...200) {
      let (download, bar) = (Download(), ProgressBar())
      await bar.follow(download)
      let tasks = (0..<4).map { _ in Task { await download.receive(25, of: 100) } }
      for task in tasks { await task.value }
      await download.progress.quiesce()
      guard await bar.fraction == 1 else { throw Wrong() }
    }
  }

  // swift-format-ignore
  @Test func tasksOfTheProgram() throws {
    try Simulation.run(seeds: 1...20) {
      let download = Download()
      let recorder = EventRecorder(download.progress)
      Task(executorPreference: EventContext.executor) { await download.receive(25, of: 100) }
      try await recorder.expect([0.25])
    }
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "TestingArticleTests")
    let code = try Documentation.examples(Documentation.article("Testing.md"))
    #expect(code.count == 9)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in TestingArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
