import Eventing
import EventingFoundation
import EventingTesting
import EventingTransport
import Foundation
import Testing

@testable import EventingInspection

/// Tests of the edges from an event to a target that is no event of the process: a notification
/// center, or a remote event.
@Suite(.serialized) struct BridgeTests {
  private func edges(of event: EventIdentity) throws -> [GraphEdge] {
    let known = try #require(EventRegistry.events.first { $0.id == event.number })
    let reading = EventReading()
    #expect(known.poll(into: reading, isWhole: true))
    return GraphEdge.all(of: known, reading)
  }

  @Test func forwardsToNotificationsAreBridges() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, center) = (Event<Int>("leaves"), NotificationCenter())
    event.forward(to: center, as: Notification.Name("shop.order"))
    for number in 1...2 { event.post(number) }
    let edge = try #require(try edges(of: event.identity).first)
    #expect(edge.from.description == "event:\(event.identity.number)" && edge.to.description == "out:notifications")
    #expect(edge.kind == .bridge && edge.count == 2 && edge.label == "shop.order")
  }

  @Test func anObjectThatIsAnEventIsNoTarget() throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let (event, object) = (Event<Int>("leaves"), Event<Int>("object"))
    event.forward(to: NotificationCenter(), as: Notification.Name("shop.order"), object: object)
    #expect(try edges(of: event.identity).map(\.kind) == [.bridge])
    withExtendedLifetime(object) {}
  }

  @Test func forwardsToRemoteEventsAreBridges() async throws {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let bus = InMemoryTransport()
    let (event, remote) = (Event<Int>("leaves"), RemoteEvent<Int>("shop.orders", over: bus))
    event.filter { $0 > 0 }.forward(to: remote)
    await event.send(1)
    let found = try edges(of: event.identity)
    #expect(found.map(\.kind) == [.bridge, .lane])
    #expect(found.first?.to.description == "out:shop.orders" && found.first?.count == 1)
    withExtendedLifetime(remote) {}
  }

  @Test func aClientSeesABridge() async throws {
    try await Serving.with { inspection in
      let event = Event<Int>("leaves")
      event.forward(to: NotificationCenter(), as: Notification.Name("shop.order"))
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let row = try #require(try await client.rows("graph", events: [event.identity.number]).first)
      #expect(row["to"] as? String == "out:notifications" && row["kind"] as? String == "bridge")
      #expect(row["label"] as? String == "shop.order" && row["count"] as? Int == 0)
    }
  }
}
