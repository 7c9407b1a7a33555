import Eventing
import EventingTransport
import Foundation
import Testing

/// Calls as users write them, from an actor and from the main actor. Each compiles, and chooses the
/// intended overload.
@Suite(.timeLimit(.minutes(10))) struct RemoteCallSiteTests {
  struct Order: Codable, Sendable, Equatable {
    var id = 0
    var total = 0.0
  }
  final class View: Sendable {
    @MainActor func show(_ order: Order) {}
    func note(_ order: Order) {}
  }
  actor Ledger {
    var total = 0.0
    func add(_ order: Order) { total += order.total }

    func inside(_ bus: InMemoryTransport) async throws -> Receipt {
      let placed = RemoteEvent<Order>("orders.inside", over: bus)
      placed.addHandler(isolatedTo: self) { ledger, order in ledger.add(order) }
      return try await placed.publish(Order(total: 2))
    }
  }

  @MainActor @Test func everyKindOfHandler() async throws {
    let (bus, view, ledger) = (InMemoryTransport(), View(), Ledger())
    let placed = RemoteEvent<Order>("orders.placed", over: bus)
    let (local, totals, archived) = (Event<Order>(), Event<Double>(), RemoteEvent<Order>("archived", over: bus))
    placed.addHandler(on: .main) { order in view.show(order) }
    placed.addHandler(on: .background) { order in print(order) }
    placed.addHandler(on: .concurrent(limit: 8)) { order in await ledger.add(order) }
    placed.addHandler(owner: view) { view, order in view.note(order) }
    placed.addHandler(isolatedTo: ledger) { ledger, order in ledger.add(order) }
    placed.addHandler(owner: view) { $0.note($1) }
    placed.once { order in print(order) }
    placed.addHandler(.named("audit"), .once, on: .background) { order in print(order) }
    placed.filter { $0.total > 100 }.addHandler { order in print(order) }
    placed.map(\.id).addHandler { id in print(id) }
    placed.signal.addHandler { print("placed") }
    placed.forward(to: local)
    placed.forward(to: archived)
    placed.compactMap { order in order.total > 0 ? order : nil }.forward(to: archived)
    placed.map(\.total).forward(to: totals)
    #expect(placed.handlerCount == 15)
    let source: any EventSource<Order> = placed
    let token = source.addHandler { order in print(order) }
    #expect(placed.lock(token) && placed.isLocked(token) && placed.unlock(token) && placed.remove(token))
    #expect(try await ledger.inside(bus) == Receipt(position: 1))
    #expect(placed.removeAll(where: .named("audit")) == 1 && placed.removeAll() == 14)
  }

  @Test func everyKindOfTransportAndCodec() async throws {
    let bus = InMemoryTransport()
    let erased: any Transport = bus.plain
    let opaque: some Transport = bus
    _ = RemoteEvent<Order>("a", over: erased)
    _ = RemoteEvent<Order>("a", over: opaque)
    _ = RemoteEvent<Order>("a", over: bus, codec: .json)
    _ = RemoteEvent<Order>("a", over: bus, codec: .json(type: "t", version: 3) { old, _ in try old.decode() })
    _ = RemoteEvent("a", over: bus, codec: Codec<Order>.json(type: "t"))
    _ = RemoteEvent("a", over: bus, codec: .bytes) as RemoteEvent<[UInt8]>
    _ = RemoteEvent<Data>("a", over: bus, codec: .bytes)
    _ = RemoteEvent<Order>("a", over: bus, codec: .cloudEvent(type: "com.shop.placed", source: "/shop"))
    let ping = RemoteEvent<Void>("ping", over: bus)
    try await ping.publish()
    ping.addHandler { print("ping") }
    let pair = RemoteEvent<[String: Int]>("pair", over: bus)
    try await pair.publish(["a": 1])
    async let a = pair.publish([:])
    async let b = pair.publish([:])
    #expect(try await Set([a.position, b.position]) == [3, 4])
  }
}
