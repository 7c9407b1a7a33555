#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// Runs the examples of the article "Past one machine" that are about NATS.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct OverNATSArticleTests {
    struct OrderPlaced: Codable, Sendable { var id: Int }

    // swift-format-ignore
    @Test func theExamples() async throws {
      @Sendable func bill(_ order: OrderPlaced) async throws {}
      @Sendable func log(_ text: String) {}
      let server = try NATSServer()
      try await server.connect().close()
      let address = server.address
      let order = OrderPlaced(id: 1)

      let nats = try await NATS.connect(address)
      let orders = try await nats.stream("ORDERS", subjects: ["orders.>", "dead.>"])
      let placed = RemoteEvent<OrderPlaced>("orders.placed", over: orders)
      let ticks = RemoteKeyedEvent<String, Double>("ticks", over: nats.plain)

      placed.addHandler { order in try await bill(order) }
      try await placed.listen(as: "billing", startingAt: .first, inFlight: 16, deadLetter: "dead.billing")

      let receipt: Receipt
      do {
        receipt = try await placed.publish(order, id: "order-\(order.id)")
      } catch let error as TransportError where error.code == .mayBeStored {
        receipt = try await placed.publish(order, id: "order-\(order.id)")
      }
      if receipt.isDuplicate { log("order \(order.id) was stored before") }

      #expect(try await placed.publish(order, id: "order-1").isDuplicate)

      nats.incidents.addHandler { incident in log("\(incident)") }

      await nats.close(within: .seconds(10))

      await #expect(throws: TransportError.self) { try await ticks.publish(1, to: "AAPL") }
    }

    // Only compiled: there is no such server.
    // swift-format-ignore
    func theExampleOfCredentials() async throws {
      let nats = try await NATS.connect(
        "tls://bus-1:4222", "tls://bus-2:4222", credentials: .file("app.creds"), tls: .trusting("authorities.pem"))
      await nats.close()
    }

    /// Each example of the article that is about NATS stands in this file, line by line.
    @Test func everyExampleIsRunHere() throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
      let article = try String(
        contentsOf: root.appending(path: "Sources/Eventing/Eventing.docc/PastOneMachine.md"), encoding: .utf8)
      let here = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
      let part = try #require(article.components(separatedBy: "\n## Over NATS\n").dropFirst().first)
      let examples = part.components(separatedBy: "```swift\n").dropFirst().map {
        $0.components(separatedBy: "```")[0]
      }
      #expect(examples.count == 6)
      for example in examples {
        let indented = example.split(separator: "\n", omittingEmptySubsequences: false)
          .map { $0.isEmpty ? "" : "      \($0)" }.joined(separator: "\n")
        #expect(here.contains(indented), "not here as it stands in the article: \(example)")
      }
    }
  }
#endif
