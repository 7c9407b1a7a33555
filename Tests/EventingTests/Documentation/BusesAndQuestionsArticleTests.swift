import Eventing
import Testing

// swift-format-ignore
extension EventKey where Payload == User { static let didLogin = EventKey("didLogin") }

struct User: Sendable { var name = "Ada" }

/// Runs the examples of the article "Buses and questions".
@Suite(.fewAtATime) struct BusesAndQuestionsArticleTests {
  protocol Auditable: Sendable {}
  struct OrderPlaced: Auditable { var id: Int }
  final class Account: Sendable {}
  actor Shop { func price(of item: String) throws -> Double? { item == "tea" ? 2.5 : nil } }

  @Test func eventsByPayloadType() async {
    let bus = EventBus()
    bus.event(for: OrderPlaced.self).addHandler { order in print(order.id) }
    bus.post(OrderPlaced(id: 1))

    #expect(await bus.send(OrderPlaced(id: 2)).delivered == 1)
  }

  @Test func payloadsByProtocol() async {
    let (bus, audited) = (EventBus(), Recorder<any Auditable>())
    @Sendable func audit(_ entry: any Auditable) async { audited.record(entry) }

    bus.all(as: (any Auditable).self).addHandler { entry in await audit(entry) }

    #expect(await bus.send(OrderPlaced(id: 2)).delivered == 1)
    #expect(audited.count == 1)
  }

  @Test func eventsByOwnerAndKey() async throws {
    let (bus, account) = (EventBus(), Account())

    try bus.event(.didLogin, of: account).addHandler { user in print(user) }

    #expect(await (try bus.event(.didLogin, of: account)).send(User()).delivered == 1)
    withExtendedLifetime(account) {}
  }

  @Test func questions() async throws {
    let shop = Shop()

    let price = EventQuestion<String, Double>("price")
    price.addResponder { item in try await shop.price(of: item) }
    let tea = try await price.firstAnswer(to: "tea", within: .seconds(10))

    #expect(tea == 2.5)
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "BusesAndQuestionsArticleTests")
    let code = try Documentation.examples(Documentation.article("BusesAndQuestions.md"))
    #expect(code.count == 5)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in BusesAndQuestionsArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
