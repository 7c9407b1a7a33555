import Eventing
import Foundation
import Testing

/// Runs the calls of `Migrating.md`, each word for word.
@Suite(.fewAtATime) struct MigratingTests {
  @Test func everyCallIsRunHere() throws {
    let run = Set(try Documentation.lines(ofTests: "MigratingTests+"))
    let rows = try Documentation.lastColumns(Documentation.article("Migrating.md")).filter { !$0.isEmpty }
    #expect(rows.count > 80)
    for code in rows.joined() {
      let isRun = run.contains(code)
      #expect(isRun, "not in MigratingTests+….swift as it stands in Migrating.md: \(code)")
    }
  }
}
