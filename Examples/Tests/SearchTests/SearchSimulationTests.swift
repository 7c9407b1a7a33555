import Eventing
import EventingTesting
import Search
import Testing

/// Tests three searches of different durations, one of which ignores cancellation. Each of 200
/// seeds chooses the order in which the tasks continue.
@MainActor @Suite(.timeLimit(.minutes(5))) struct SearchSimulationTests {
  struct Wrong: Error {
    let results: [[String]]
  }

  @Test(.enabled(if: Simulation.includesAllTasks)) func theLastTextWinsInEveryOrder() throws {
    try Simulation.run(seeds: 1...200) {
      let clock = Simulation.clock
      let model = await SearchModel(clock: clock) { text in
        // The shorter the text, the longer its search. So each search is still running when the
        // next one begins. A model that cancels no search shows the results of earlier texts, too.
        let length = Duration.milliseconds(1_000 - 300 * text.count)
        if text.count == 2 {
          await Task { try? await clock.sleep(for: length) }.value  // ignores cancellation
        } else {
          try await clock.sleep(for: length)
        }
        return [text]
      }
      var seen: [[String]] = []
      for text in ["s", "sw", "swi"] {
        await MainActor.run { model.text = text }
        try await clock.sleep(for: .milliseconds(350))
        seen.append(await model.results)
      }
      await model.typed.quiesce()
      seen.append(await model.results)
      guard seen == [[], [], [], ["swi"]], await model.state == .idle else { throw Wrong(results: seen) }
    }
  }
}
