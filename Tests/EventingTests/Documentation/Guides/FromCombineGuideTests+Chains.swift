import Eventing
import Testing

// The rows of the guide's tables about values, and about chains of Combine operators. Where an
// operator becomes a modifier of a handler, as `debounce` does, the rest of the chain needs a
// second event.
extension FromCombineGuideTests {
  final class Lamp: Sendable {
    let count = Observed(0)
    // swift-format-ignore
    var counts: some EventSource<Int> { count }
  }

  @MainActor final class Search {
    var found: [String] = []
    func find(_ text: String) async throws { found.append(text) }
  }

  @Test func values() async {
    let (placed, count, noted) = (Event<Order>("placed"), Observed(0), Recorder<Int>())
    @Sendable func note(_ number: Int) { noted.record(number) }
    let answers = Event<Result<Order, any Error>>("answers")
    let source: any EventSource<Order> = placed.source

    count.addHandler { count in note(count) }
    count.map { count in count * 2 }.addHandler { double in note(double) }
    source.addHandler { order in note(order.id) }
    placed.addHandler(.priority(1)) { order in note(order.id) }
    answers.addHandler { _ in note(100) }
    count.value = 5
    placed.post(Order())
    answers.post(.success(Order()))
    #expect(noted.values == [0, 0, 5, 10, 7, 7, 100])
    let lamp = Lamp()
    lamp.counts.addHandler { count in note(count) }
    #expect(noted.values.last == 0)
  }

  @Test func chains() async {
    let (placed, search, settled) = (Event<Order>("placed"), Event<String>("search"), Event<String>("settled"))
    let (last, noted, model) = (Observed("King"), Recorder<String>(), Search())
    @Sendable func note(_ text: String) { noted.record(text) }
    @Sendable func insert(_ batch: [Order]) async throws { noted.record("inserted \(batch.count)") }

    placed.map(\.id).combineLatest(last).addHandler { id, last in note("\(id) \(last)") }
    placed.map { order in last.value }.addHandler { last in note(last) }
    placed.batches(of: 2, within: .seconds(3_600)).addHandler { batch in try await insert(batch) }
    placed.post(Order())
    await placed.send(Order())
    #expect(noted.values == ["7 King", "King", "7 King", "King", "inserted 2"])

    search.addHandler(.debounced(for: .milliseconds(300))) { text in settled.post(text) }
    settled.removeDuplicates().addHandler { text in note(text) }
    search.addHandler(.cancellingPrevious, on: .main, owner: model) { model, text in try await model.find(text) }
    await search.send("tea")
    await search.send("tea")
    await settled.quiesce()
    #expect(noted.values.suffix(2) == ["inserted 2", "tea"])
    #expect(await model.found == ["tea", "tea"])
  }

  // swift-format-ignore
  @Test func ticks() async {
    let (ticked, first) = (Signal("ticked"), Gate())
    ticked.addHandler { first.open() }
    let ticking = Task {
      while !Task.isCancelled { try await Task.sleep(for: .seconds(1)); ticked.post() }
    }
    await first.opened()
    ticking.cancel()
    _ = await ticking.result
  }
}
