import Eventing
import EventingTesting
import Search
import Testing

/// Tests of the model with a clock that only the test moves. So no test waits for real time or
/// depends on it.
@MainActor @Suite(.timeLimit(.minutes(5))) struct SearchModelTests {
  struct Offline: Error, CustomStringConvertible {
    var description: String { "offline" }
  }

  let clock = ManualClock()
  let searches = Event<String>("searches")

  @Test func aPauseBeginsOneSearch() async throws {
    let begun = EventRecorder(searches)
    let model = SearchModel(clock: clock) { [searches] text in
      searches.post(text)
      return ["result for \(text)"]
    }
    clock.meet(model.typed)  // so that `advanceWhenIdle` waits for each search that begins
    for text in ["s", "sw", "swift"] {
      model.text = text
      await clock.advanceWhenIdle(by: .milliseconds(299))
    }
    try await begun.expectNone()

    await clock.advanceWhenIdle(by: .milliseconds(1))
    await model.typed.quiesce()
    try await begun.expect(["swift"])
    #expect(model.results == ["result for swift"])
    #expect(model.state == .idle)
  }

  @Test func aLaterTextCancelsTheSearchThatRuns() async throws {
    let cancelled = EventRecorder(searches)
    let model = SearchModel(clock: clock) { [searches, clock] text in
      if text == "sw" {
        do { try await clock.sleep(for: .seconds(10)) } catch { searches.post(text) }
      }
      return ["result for \(text)"]
    }
    model.text = "sw"
    await clock.advanceWhenIdle(by: .milliseconds(300))
    await clock.waitForSleepers()
    #expect(model.state == .searching)

    model.text = "swift"
    await clock.advanceWhenIdle(by: .milliseconds(300))
    await model.typed.quiesce()
    try await cancelled.expect(["sw"])
    #expect(model.results == ["result for swift"])
  }

  @Test func anEmptyTextClearsTheResults() async {
    let model = SearchModel(clock: clock) { text in [text] }
    for text in ["swift", ""] {
      model.text = text
      await clock.advanceWhenIdle(by: .milliseconds(300))
      await model.typed.quiesce()
      #expect(model.results == (text.isEmpty ? [] : [text]))
    }
    #expect(model.state == .idle)
  }

  @Test func aFailureIsShownUntilTheNextSearch() async {
    let model = SearchModel(clock: clock) { text in
      if text == "s" { throw Offline() }
      return [text]
    }
    model.text = "s"
    await clock.advanceWhenIdle(by: .milliseconds(300))
    await model.typed.quiesce()
    #expect(model.state == .failed("offline"))

    model.text = "sw"
    await clock.advanceWhenIdle(by: .milliseconds(300))
    await model.typed.quiesce()
    #expect(model.state == .idle)
    #expect(model.results == ["sw"])
  }

  @Test func aModelEndsWithItsView() async {
    var model: SearchModel? = SearchModel(clock: clock) { text in [text] }
    weak let last = model
    model?.text = "swift"
    await clock.advanceWhenIdle(by: .milliseconds(300))
    await model?.typed.quiesce()
    #expect(last?.results == ["swift"])
    model = nil
    #expect(last == nil)
  }
}
