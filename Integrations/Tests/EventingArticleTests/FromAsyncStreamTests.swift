import AsyncAlgorithms
import Eventing
import Testing

/// Runs the code of the guide "From AsyncStream and AsyncAlgorithms" that needs AsyncAlgorithms.
@Suite(.timeLimit(.minutes(2))) struct FromAsyncStreamTests {
  @Test func operatorsOfTheSequence() async {
    let (lines, numbers, header, notes) = (Event<String>("lines"), Event<Int>("numbers"), ["header"], Notes())
    @Sendable func print(_ items: Any...) { notes.note(items.map { "\($0)" }.joined(separator: " ")) }
    // swift-format-ignore
    let loops = Task {
      for await (line, number) in zip(lines.payloads(), numbers.payloads()) { print(number, line) }
      for await line in chain(header.async, lines.payloads()) { print(line) }
    }
    await untilHeard(lines)
    await untilHeard(numbers)
    lines.post("tea")
    numbers.post(1)
    lines.finish()
    numbers.finish()
    await loops.value
    #expect(notes.all == ["1 tea", "header"])
  }

  @Test func chainReadsTheHeaderFirst() async {
    let (lines, notes) = (Event<String>("lines"), Notes())
    let both = chain(["header"].async, lines.payloads())
    lines.post("tea")
    lines.finish()
    for await line in both { notes.note(line) }
    #expect(notes.all == ["header", "tea"])
  }

  @Test(.enabled(if: Articles.hasGuides)) func everyIndentedLineIsRunHere() throws {
    let examples = try Articles.indented(Articles.guide("FromAsyncStream.md"))
    #expect(examples.map(\.count) == [2])
    try Articles.expect(examples, in: "FromAsyncStreamTests.swift")
  }
}
