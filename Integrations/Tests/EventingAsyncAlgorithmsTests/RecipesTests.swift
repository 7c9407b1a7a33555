import AsyncAlgorithms
import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of the README's recipes for AsyncAlgorithms with `payloads()`.
///
/// A sequence receives the payloads that are sent after `payloads()` has returned. So each test
/// makes the sequence before it sends. `finish()` ends the sequence.
@Suite(.timeLimit(.minutes(2))) struct RecipesTests {
  @Test func debounceTakesTheLastOfABurst() async throws {
    let typed = Event<String>("typed")
    let searches = typed.payloads().debounce(for: .milliseconds(20))
    for text in ["s", "sw", "swift"] { typed.post(text) }
    var found: [String] = []
    for await text in searches {
      found.append(text)
      if found.count == 1 { typed.finish() }
    }
    #expect(found == ["swift"])
  }

  @Test func mergeReadsSeveralEventsInOneLoop() async throws {
    let (clicks, keys) = (Event<String>("clicks"), Event<String>("keys"))
    let input = merge(clicks.payloads(), keys.payloads())
    for number in 0..<3 {
      clicks.post("click \(number)")
      keys.post("key \(number)")
    }
    clicks.finish()
    keys.finish()
    var found: [String] = []
    for await each in input { found.append(each) }
    #expect(found.filter { $0.hasPrefix("click") } == ["click 0", "click 1", "click 2"])
    #expect(found.filter { $0.hasPrefix("key") } == ["key 0", "key 1", "key 2"])
    #expect(found.count == 6)
  }

  @Test func chunkedCollectsPayloads() async throws {
    let samples = Event<Int>("samples")
    let batches = samples.payloads().chunks(ofCount: 4)
    for sample in 0..<10 { samples.post(sample) }
    samples.finish()
    var found: [[Int]] = []
    for await batch in batches { found.append(batch) }
    #expect(found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
  }

  @Test func chunkedByASignalWritesWhatHasCome() async throws {
    let (lines, flush) = (Event<String>("lines"), Signal())
    let pages = lines.payloads().chunked(by: flush.payloads())
    lines.post("a")
    lines.post("b")
    lines.finish()
    var found: [[String]] = []
    for await page in pages { found.append(page) }
    #expect(found.flatMap { $0 } == ["a", "b"])
    withExtendedLifetime(flush) {}
  }

  @Test func combineLatestJoinsTwoProperties() async throws {
    let (width, height) = (Event<Int>("width"), Event<Int>("height"))
    let areas = combineLatest(width.payloads(), height.payloads())
    width.post(2)
    height.post(3)
    var found: [Int] = []
    for await (width_, height_) in areas {
      found.append(width_ * height_)
      if found.count == 1 { height.post(5) } else { break }
    }
    #expect(found == [6, 10])
    withExtendedLifetime((width, height)) {}
  }

  @Test func removeDuplicatesLeavesRepetitionsOut() async throws {
    let states = Event<String>("states")
    let changes = states.payloads().removeDuplicates()
    for state in ["on", "on", "off", "off", "on"] { states.post(state) }
    states.finish()
    var found: [String] = []
    for await state in changes { found.append(state) }
    #expect(found == ["on", "off", "on"])
  }

  @Test func adjacentPairsSeeTheChange() async throws {
    let values = Event<Int>("values")
    let steps = values.payloads().adjacentPairs()
    for value in [1, 4, 9] { values.post(value) }
    values.finish()
    var found: [Int] = []
    for await (old, new) in steps { found.append(new - old) }
    #expect(found == [3, 5])
  }

  @Test func mergeReadsLocalAndRemoteEvents() async throws {
    let (local, remote) = (Event<Int>("local"), RemoteEvent<Int>("remote", over: InMemoryTransport()))
    let both = merge(local.payloads(), remote.payloads())
    try await remote.listen()
    local.post(1)
    try await remote.publish(2)
    var found: Set<Int> = []
    for await each in both {
      found.insert(each)
      if found.count == 2 { break }
    }
    #expect(found == [1, 2])
    withExtendedLifetime((local, remote)) {}
  }
}
