import Eventing
import Testing

/// Runs the example of the README, and compares what it prints with what the README shows.
@Suite(.fewAtATime) struct ReadmeTests {
  // swift-format-ignore
  @Test func exampleShowsItsOutput() async throws {
    let output = Recorder<String>()
    @Sendable func print(_ items: Any...) { output.record(items.map { "\($0)" }.joined(separator: " ")) }

    let progress = Event<Double>("progress")
    let bar = progress.addHandler { fraction in print("bar:", fraction) }   // inline: called where the event delivers
    progress.addHandler { fraction async in print("log:", fraction) }       // asynchronous: one call at a time

    progress.post(0.25)                     // calls bar, hands the value to log, and does not wait for it
    await progress.quiesce()                // no call is running any more
    let report = await progress.send(0.5)   // calls bar, then log, and waits for both
    print(report)                           // the second occurrence: what became of its two handlers
    progress.remove(bar)                    // from now on no call of bar begins
    await progress.send(1)

    let readme = try Documentation.lines(Documentation.readme)
    let shown = readme.drop { $0 != "```text" }.dropFirst().prefix { $0 != "```" }
    #expect(output.values == Array(shown))
    #expect(output.count == 6)
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "ReadmeTests")
    let code = try Documentation.examples(Documentation.readme).filter { $0.first?.hasPrefix(".package") != true }
    #expect(code.count == 1)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in ReadmeTests.swift as it stands in the README: \(example.first ?? "")")
    }
  }
}
