import Eventing
import Testing

/// Runs the examples of the article "Sequences".
@Suite(.fewAtATime) struct SequencesArticleTests {
  @Test func sequences() async {
    let progress = Event<Double>()
    let seen = Recorder<String>()
    @Sendable func print(_ item: Any) { seen.record("\(item)") }
    let loops = [
      Task {
        for await fraction in progress.payloads(buffering: .newest(16)) { print(fraction) }
      },
      Task {
        for await arrival in progress.arrivals(buffering: .oldest(16)) {
          switch arrival {
          case .payload(let fraction): print(fraction)
          case .dropped(let count): print("\(count) are missing here")
          }
        }
      },
    ]
    #expect(await eventually { progress.handlerCount == 2 })
    progress.post(0.5)
    progress.finish()
    for loop in loops { await loop.value }
    #expect(seen.values == ["0.5", "0.5"])
  }

  @Test func batches() async {
    struct Order: Sendable {}
    let (orders, stored) = (Event<Order>(), Recorder<Int>())
    @Sendable func store(_ batch: [Order]) async { stored.record(batch.count) }
    let loop = Task {
      for await batch in orders.batches(of: 100).payloads(buffering: .newest(1_000)) { await store(batch) }
    }
    #expect(await eventually { orders.handlerCount == 1 })
    for _ in 0..<250 { orders.post(Order()) }
    orders.finish()
    await loop.value
    #expect(stored.values.reduce(0, +) == 250 && stored.values.allSatisfy { 1...100 ~= $0 })
  }

  @Test func onePayload() async throws {
    let progress = Event<Double>(replaying: .current(0.25))
    let sender = Task {
      for number in 1...4 { progress.post(Double(number) / 4) }
    }
    let half = try await progress.next(within: .seconds(2)) { fraction in fraction >= 0.5 }
    #expect(half >= 0.5)
    await sender.value
  }

  // swift-format-ignore
  @Test func payloadsThatWereSentBefore() {
    let shown = Recorder<Double>()
    @Sendable func show(_ volume: Double) { shown.record(volume) }

    let volume = Event("volume", replaying: .current(0.5))
    volume.addHandler { volume in show(volume) }                 // 0.5 now, and then what is sent
    volume.post(0.7)
    print(volume.latest ?? 0)                                    // 0.7

    #expect(shown.values == [0.5, 0.7])
    #expect(volume.latest == 0.7)
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "SequencesArticleTests")
    let code = try Documentation.examples(Documentation.article("Sequences.md"))
    #expect(code.count == 5)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in SequencesArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
