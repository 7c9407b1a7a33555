import AsyncAlgorithms
import Eventing
import EventingTransport
import Testing

/// Runs the loops of Integrations/README.md that use AsyncAlgorithms. Each test sends only after
/// its loop has called `payloads()`.
@Suite(.timeLimit(.minutes(2))) struct ReadmeAlgorithmTests {
  let notes = Notes()

  @Test func debounce() async {
    let typed = Event<String>("typed")
    @Sendable func search(_ text: String) {
      notes.note(text)
      typed.finish()
    }
    let loop = Task {
      for await text in typed.payloads().debounce(for: .milliseconds(300)) { search(text) }
    }
    await untilHeard(typed)
    for text in ["te", "tea"] { typed.post(text) }
    await loop.value
    #expect(notes.all == ["tea"])
  }

  @Test func mergeOfEvents() async {
    let (clicks, keys) = (Event<String>("clicks"), Event<String>("keys"))
    @Sendable func handle(_ input: String) { notes.note(input) }
    let loop = Task {
      for await input in merge(clicks.payloads(), keys.payloads()) { handle(input) }
    }
    for event in [clicks, keys] {
      await untilHeard(event)
      event.post("pressed")
      event.finish()
    }
    await loop.value
    #expect(notes.all == ["pressed", "pressed"])
  }

  @Test func chunks() async throws {
    let samples = Event<Int>("samples")
    @Sendable func store(_ batch: [Int]) async throws { notes.note("\(batch)") }
    let loop = Task {
      for await batch in samples.payloads().chunks(ofCount: 100) { try await store(batch) }
    }
    await untilHeard(samples)
    for sample in 1...2 { samples.post(sample) }
    samples.finish()
    try await loop.value
    #expect(notes.all == ["[1, 2]"])
  }

  @Test func chunksBySignal() async {
    let (lines, flush) = (Event<String>("lines"), Signal("flush"))
    @Sendable func write(_ page: [String]) { notes.note("\(page)") }
    let loop = Task {
      for await page in lines.payloads().chunked(by: flush.payloads()) { write(page) }
    }
    await untilHeard(lines)
    await untilHeard(flush)
    lines.post("tea")
    lines.finish()
    await loop.value
    #expect(notes.all == ["[\"tea\"]"])
  }

  @Test func combinedValues() async {
    let (widths, heights) = (Event<Int>("widths"), Event<Int>("heights"))
    @Sendable func layout(_ width: Int, _ height: Int) { notes.note("\(width) × \(height)") }
    // swift-format-ignore
    let loop = Task {
      for await (width, height) in combineLatest(widths.payloads(), heights.payloads()) { layout(width, height) }
    }
    for (event, value) in [(widths, 2), (heights, 3)] {
      await untilHeard(event)
      event.post(value)
      event.finish()
    }
    await loop.value
    #expect(notes.all == ["2 × 3"])
  }

  @Test func removedDuplicates() async {
    let states = Event<String>("states")
    @Sendable func show(_ state: String) { notes.note(state) }
    let loop = Task {
      for await state in states.payloads().removeDuplicates() { show(state) }
    }
    await untilHeard(states)
    for state in ["on", "on", "off"] { states.post(state) }
    states.finish()
    await loop.value
    #expect(notes.all == ["on", "off"])
  }

  @Test func adjacentPairs() async {
    let values = Event<Int>("values")
    @Sendable func print(_ step: Int) { notes.note("\(step)") }
    let loop = Task {
      for await (old, new) in values.payloads().adjacentPairs() { print(new - old) }
    }
    await untilHeard(values)
    for value in [1, 4, 9] { values.post(value) }
    values.finish()
    await loop.value
    #expect(notes.all == ["3", "5"])
  }

  @Test func mergeOfLocalAndRemote() async throws {
    let (local, remote) = (Event<Int>("local"), RemoteEvent<Int>("remote", over: InMemoryTransport()))
    @Sendable func take(_ order: Int) { notes.note("\(order)") }
    let loop = Task {
      for await order in merge(local.payloads(), remote.payloads()) { take(order) }
    }
    await untilHeard(local)
    try await remote.listen()
    local.post(1)
    while notes.all.isEmpty { await Task.yield() }
    loop.cancel()
    await loop.value
    #expect(notes.all == ["1"])
  }
}
