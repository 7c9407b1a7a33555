import EventingPrograms
import Foundation
import Testing

/// Runs programs on one thread and compares them with a model (G3, G4, G6 to G10, G21).
///
/// Handlers also run program steps. The model goes through all handlers for each occurrence.
@Suite(.fewAtATime) struct ModelTests {
  @Test func randomProgramsDoWhatTheModelSays() async {
    var random = SeededGenerator.fresh("programs")
    var (calls, skips) = (0, 0)
    for number in 0..<500 {
      let outcome = await Program(steps: 60, using: &random).run()
      calls += outcome.calls
      skips += outcome.skips
      guard outcome.difference == nil else {
        Issue.record("program \(number), \(outcome.difference ?? ""), EVENTING_SEED=\(random.seed)")
        return
      }
    }
    #expect(calls > 10_000)
    #expect(skips > 1_000)
  }

  /// Runs the programs of the corpus.
  ///
  /// The fuzzer kept each program because it reached new code, or because it found a fault.
  @Test func programsOfTheCorpusDoWhatTheModelSays() async throws {
    let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(
        path: "corpus.txt")
    let lines = try String(contentsOf: corpus, encoding: .utf8).split(separator: "\n")
    #expect(lines.count > 20)
    for line in lines {
      let outcome = await Program(bytes: try #require(Data(base64Encoded: String(line)))).run()
      #expect(outcome.difference == nil, "\(line)")
    }
  }
}
