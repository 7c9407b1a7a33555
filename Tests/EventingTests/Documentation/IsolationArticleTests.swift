import Eventing
import Foundation
import Testing

/// Runs the examples of the article "Isolation". Its modes, and what must not compile, stand in
/// Tests/Clients.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct IsolationArticleTests {
  // swift-format-ignore
  nonisolated struct PlayerID: Codable, Hashable, Sendable { var name: String }
  // swift-format-ignore
  nonisolated struct Move: Codable, Equatable, Sendable { var player: PlayerID, position: Int }
  nonisolated protocol Auditable: Sendable { var entry: String { get } }

  @MainActor final class OrderTable {
    var rows: [Int] = []

    // swift-format-ignore
    func listen(to orders: Event<Int>, _ store: Store, _ uploaded: Recorder<Int>) {
      @Sendable func upload(_ order: Int) async throws { uploaded.record(order) }

      orders.addHandler(on: .main, owner: self) { table, order in table.rows.append(order) }
      orders.addHandler(isolatedTo: store) { store, order in store.total += order }
      orders.addHandler { order in try await upload(order) }         // on no actor, whatever the module
    }
  }

  actor Store { var total = 0 }

  @Test func eachHandlerRunsWhereItSays() async {
    let (orders, table, store) = (Event<Int>(), OrderTable(), Store())
    let uploaded = Recorder<Int>()
    await table.listen(to: orders, store, uploaded)
    #expect(await orders.send(3).delivered == 3)
    #expect(await table.rows == [3])
    #expect(await store.total == 3)
    #expect(uploaded.values == [3])
  }

  @Test func nonisolatedPayloadsArePayloads() {
    let (moved, seen) = (KeyedEvent<PlayerID, Move>(), Recorder<Int>())
    let ada = PlayerID(name: "ada")
    moved[ada].removeDuplicates().map(\.position).addHandler { position in seen.record(position) }
    for _ in 0..<2 { moved.post(Move(player: ada, position: 1), to: ada) }
    #expect(seen.values == [1])
  }

  @Test func everyExampleIsRunHereOrRefused() throws {
    let run = try Documentation.lines(ofTests: "IsolationArticleTests")
    let mistakes = Documentation.root.appending(path: "Tests/Clients/Mistakes/InlineOnMainActor.swift")
    let lines = try run + Documentation.lines(mistakes)
    let code = try Documentation.examples(Documentation.article("Isolation.md"))
    #expect(code.count == 4)
    for example in code {
      let isThere = example.allSatisfy(lines.contains)
      #expect(isThere, "not in a test as it stands in the article: \(example.first ?? "")")
    }
  }
}
