import Eventing
import EventingTransport
import Foundation
import Testing

/// Runs the examples of the article "Past one machine".
@Suite(.timeLimit(.minutes(10))) struct PastOneMachineArticleTests {
  struct OrderPlaced: Codable, Sendable { var id: Int }
  enum Trace { @TaskLocal static var parent: String? }
  struct OrderPlacedV1: Codable, Sendable { var number: Int }

  // swift-format-ignore
  @Test func theArticle() async throws {
    @Sendable func bill(_ order: OrderPlaced) async throws {}
    func log(_ text: String) { Issue.record("expected no duplicate, got: \(text)") }
    let checkedOut = Event<Int>("checkedOut")

    let bus = InMemoryTransport()
    let placed = RemoteEvent<OrderPlaced>("orders.placed", over: bus)
    placed.addHandler { order in try await bill(order) }
    try await placed.listen(as: "billing")
    let receipt = try await placed.publish(OrderPlaced(id: 1))

    #expect(receipt == Receipt(position: 1))

    try await placed.listen(as: "mail", deduplicating: .last(10_000))
    let second = try await placed.publish(OrderPlaced(id: 2), id: "order-2", headers: ["traceparent": "00-1"])
    if second.isDuplicate { log("order 2 was stored before") }

    try await placed.listen(
      as: "stock", retry: .exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5), deadLetter: "dead.stock")

    let queue = try await DeadLetterQueue.open("dead.stock", over: bus)
    for count in queue.counts { print(count) }
    try await queue.sendAgain(queue.letters.filter { $0.handler == "reserve" })
    queue.discard(queue.letters.filter { $0.reason.contains("unknown article") })
    await queue.close()

    let backlog = try await placed.backlog(of: "stock")
    print(backlog.waiting, backlog.inHand, backlog.redelivered, backlog.oldest ?? .now)

    #expect(backlog == Backlog(waiting: 0, inHand: 0))

    let codec = Codec<OrderPlaced>.json(type: "shop.order.placed", version: 2) { old, version in
      OrderPlaced(id: try old.decode(OrderPlacedV1.self).number)
    }
    let upgraded = RemoteEvent("orders.placed", over: bus, codec: codec)

    #expect(upgraded.subject == "orders.placed")

    checkedOut.compactMap { cart in OrderPlaced(id: cart) }.forward(to: placed)

    #expect(await checkedOut.send(3).delivered == 1)

    let prices = RemoteKeyedEvent<String, Double>("ticks", over: bus.plain)
    prices["AAPL"].addHandler { price in print(price) }
    try await prices.listen()
    try await prices.publish(201.5, to: "AAPL")

    let double = RemoteQuestion<Int, Int>("double", over: bus.plain)
    double.addResponder { number in number * 2 }
    try await double.listen(as: "calculators")
    let four = try await double.firstAnswer(to: 2, within: .seconds(10))

    #expect(four == 4)

    let headers = Notes<[String: String]>()
    placed.remoteOccurrences.addHandler { headers.note($0.headers) }

    RemoteContext.propagate(Trace.$parent, header: "traceparent") { parent in parent } decode: { text in text }
    try await Trace.$parent.withValue("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") {
      try await placed.publish(OrderPlaced(id: 4))
    }

    while !headers.values.contains(where: { $0["traceparent"]?.hasPrefix("00-4bf9") == true }) { await Task.yield() }

    let shared = RemoteEvent<OrderPlaced>(
      "orders.shared", over: bus, codec: .cloudEvent(type: "com.example.order.placed", source: "/shop"))
    let sharing = try await shared.publish(OrderPlaced(id: 5), id: "5")
    if sharing.isDuplicate { log("event 5 was stored before") }

    shared.remoteOccurrences.addHandler { headers.note($0.headers) }
    try await shared.listen(startingAt: .first)
    // `headers` also gets the headers of messages of `placed`, at any time. So the message of
    // `shared` need not be the last one, and the loop searches all headers.
    while !headers.values.contains(where: { $0["ce-type"] == "com.example.order.placed" }) { await Task.yield() }

    let listening = try await placed.listen(as: "shipping")
    await listening.drain(within: .seconds(10))

    let faulty = InMemoryTransport(seed: 7, faults: [.duplicate(0.01), .drop(0.01), .delay(upTo: .milliseconds(50))])

    #expect(faulty.identity != bus.identity)
  }

  /// Checks that this file contains each example of the article, line by line. Examples from the
  /// section "Over NATS" on are left out.
  @Test func everyExampleIsRunHere() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    let article = try String(
      contentsOf: root.appending(path: "Sources/Eventing/Eventing.docc/PastOneMachine.md"), encoding: .utf8)
    let here = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
    let part = article.components(separatedBy: "\n## Over NATS\n")[0]
    let examples = part.components(separatedBy: "```swift\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    #expect(examples.count == 12)
    for example in examples {
      let indented = example.split(separator: "\n", omittingEmptySubsequences: false)
        .map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
      #expect(here.contains(indented), "not here as it stands in the article: \(example)")
    }
  }
}
