import Eventing
import Foundation
import Testing

/// The calls of `Migrating.md`, word for word, and what they do: `everyCallIsRunHere` compares them with the article itself.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct MigratingTests {
  @Test func everyCallIsRunHere() throws {
    let run = Set(try Documentation.lines(ofTests: "MigratingTests+"))
    let rows = try Documentation.lastColumns(Documentation.article("Migrating.md")).filter { !$0.isEmpty }
    #expect(rows.count > 80)
    for code in rows.joined() {
      let isRun = run.contains(code)
      #expect(isRun, "not in MigratingTests+….swift as it stands in Migrating.md: \(code)")
    }
  }

  @Test func everyExampleOfAnArticleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "MigratingTests+")
    for example in try Documentation.examples(Documentation.article("Views.md")) {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in MigratingTests+….swift as it stands in Views.md: \(example.first ?? "")")
    }
  }
}
