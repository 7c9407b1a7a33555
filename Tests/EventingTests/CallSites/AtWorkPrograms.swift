import Eventing
import EventingTesting
import Testing

// Four small programs as users write them, each under 40 lines. Their handlers have modifiers.

/// A view model whose search begins after a pause in the typing, and ignores outdated results.
@MainActor final class SearchModel {
  let typed = Event<String>()
  private(set) var results: [String] = []
  private(set) var searchCount = 0

  init(clock: any Clock<Duration> = ContinuousClock(), search: @escaping @Sendable (String) async throws -> [String]) {
    typed.add(
      Handler(.cancellingPrevious, .debounced(for: .milliseconds(300), clock: clock)) { [weak self] text in
        await self?.countSearch()
        let results = try await search(text)
        await self?.show(results)
      })
  }

  private func countSearch() { searchCount += 1 }
  private func show(_ results: [String]) { self.results = results }
}

/// A progress bar that is drawn at most ten times a second, and shows the last value.
@MainActor final class ProgressBar {
  let progress = Event<Double>()
  private(set) var drawn: [Double] = []

  init(clock: any Clock<Duration> = ContinuousClock()) {
    progress.add(
      Handler(.throttled(every: .milliseconds(100), clock: clock), on: .main) { [weak self] fraction in
        self?.drawn.append(fraction)
      })
  }
}

/// A consumer that retries when its service is busy, and keeps the orders that failed.
actor Billing {
  struct Order: Sendable, Equatable { let number: Int }
  struct ServiceIsBusy: Error {}
  struct CardIsRefused: Error {}

  let orders = Event<Order>()
  private(set) var billed: [Int] = []
  private(set) var refused: [(order: Int, attempts: Int)] = []

  init(clock: any Clock<Duration> = ContinuousClock(), charge: @escaping @Sendable (Order) async throws -> Void) {
    orders.add(
      Handler(
        .retrying(
          .exponential(from: .milliseconds(100), to: .seconds(10), attempts: 4), if: { $0 is ServiceIsBusy },
          clock: clock
        )
      ) { [weak self] order in
        try await charge(order)
        await self?.note(order)
      })
    orders.deadLetters.addHandler { [weak self] letter async in
      await self?.keep(letter.payload.number, letter.failure.attempts)
    }
  }

  private func note(_ order: Order) { billed.append(order.number) }
  private func keep(_ order: Int, _ attempts: Int) { refused.append((order, attempts)) }
}

/// An importer that inserts a hundred rows at a time. If fewer arrive, it inserts them after half a
/// second.
actor Importer {
  let rows = Event<String>()
  private(set) var inserts: [[String]] = []

  init(clock: any Clock<Duration> = ContinuousClock()) {
    rows.batches(of: 100, within: .milliseconds(500), clock: clock).addHandler { [weak self] rows async in
      await self?.insert(rows)
    }
  }

  private func insert(_ rows: [String]) { inserts.append(rows) }
}

@Suite(.fewAtATime) struct AtWorkProgramTests {
  @Test @MainActor func searchAsYouType() async {
    let clock = ManualClock()
    let model = SearchModel(clock: clock) { ["\($0)!"] }
    for text in ["f", "fr", "fro"] {
      model.typed.post(text)
      await clock.advanceWhenIdle(by: .milliseconds(100))
    }
    #expect(model.searchCount == 0)
    await clock.advanceWhenIdle(by: .milliseconds(300))
    await clock.waitUntilIdle()
    #expect(model.searchCount == 1 && model.results == ["fro!"])
  }

  @Test @MainActor func progressBar() async {
    let clock = ManualClock()
    let bar = ProgressBar(clock: clock)
    for step in 0...50 {
      bar.progress.post(Double(step) / 50)
      await clock.advanceWhenIdle(by: .milliseconds(10))
    }
    await clock.advanceWhenIdle(by: .seconds(1))
    await clock.waitUntilIdle()
    #expect(bar.drawn.first == 0 && bar.drawn.last == 1 && (6...7).contains(bar.drawn.count))
  }

  @Test func consumerThatRetries() async {
    let (clock, calls) = (ManualClock(), Recorder<Int>())
    let billing = Billing(clock: clock) { order in
      calls.record(order.number)
      if order.number == 2 { throw Billing.CardIsRefused() }
      if order.number == 3, calls.values.count(where: { $0 == 3 }) < 3 { throw Billing.ServiceIsBusy() }
    }
    for number in 1...4 { billing.orders.post(Billing.Order(number: number)) }
    await clock.advanceWhenIdle(by: .seconds(60))
    await billing.orders.quiesce()
    while await billing.refused.isEmpty { await Task.yield() }
    #expect(calls.values == [1, 2, 3, 3, 3, 4])
    #expect(await billing.billed == [1, 3, 4])
    let refused = await billing.refused
    #expect(refused.map(\.order) == [2] && refused.map(\.attempts) == [1])
  }

  @Test func importerThatBatches() async {
    let clock = ManualClock()
    let importer = Importer(clock: clock)
    for row in 0..<250 { importer.rows.post("row \(row)") }
    await clock.advanceWhenIdle(by: .seconds(1))
    await clock.waitUntilIdle()
    #expect(await importer.inserts.map(\.count) == [100, 100, 50])
  }
}
