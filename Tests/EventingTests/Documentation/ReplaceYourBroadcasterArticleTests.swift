import Eventing
import Foundation
import Testing

/// Runs the examples of the article "Replace your broadcaster". Its deadlock is a program of
/// Tests/Clients.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct ReplaceYourBroadcasterArticleTests {
  actor Store {
    var total = 0
    func add(_ number: Int) { total += number }
  }

  @Test func anEventHasManyConsumers() async {
    let output = Recorder<Int>()
    @Sendable func print(_ number: Int) { output.record(number) }

    let numbers = Event<Int>("numbers")

    let consumer = Task {
      for await number in numbers.payloads() { print(number) }
    }
    numbers.post(1)
    consumer.cancel()

    await consumer.value
    #expect(output.values.allSatisfy { $0 == 1 })
  }

  @Test func theCallsOfTheTable() async {
    let (numbers, store, seen) = (Event<Int>(replaying: .last(1)), Store(), Recorder<Int>())
    numbers.post(1)
    numbers.addHandler(isolatedTo: store) { store, number in store.add(number) }
    await numbers.send(2)
    #expect(await store.total == 3)
    let newest = numbers.payloads(buffering: .newest(10))
    numbers.finish()
    for await number in newest { seen.record(number) }
    for await number in numbers.payloads() { seen.record(number) }
    #expect(seen.values.allSatisfy { $0 == 2 })
  }

  @Test func everyExampleStandsInAProgram() throws {
    let broadcaster = Documentation.root.appending(path: "Tests/Clients/Sources/Broadcaster/Broadcaster.swift")
    let run = try Documentation.lines(ofTests: "ReplaceYourBroadcasterArticleTests")
    let lines = try run + Documentation.lines(broadcaster)
    let article = Documentation.article("ReplaceYourBroadcaster.md")
    let code = try Documentation.examples(article)
    #expect(code.count == 2)
    for example in code {
      let isThere = lines.indices.contains { lines[$0...].starts(with: example) }
      #expect(isThere, "not in a program as it stands in the article: \(example.first ?? "")")
    }
    let calls = try Documentation.lastColumns(article).joined()
    #expect(calls.count == 7)
    for call in calls {
      #expect(lines.contains { $0.contains(call) }, "not in ReplaceYourBroadcasterArticleTests.swift: \(call)")
    }
  }
}
