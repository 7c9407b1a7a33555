import Eventing
import EventingInspection
import EventingTesting
import Foundation
import Testing

/// Runs the examples of the article "Seeing what happens".
@Suite(.serialized, .timeLimit(.minutes(10))) struct SeeingWhatHappensArticleTests {
  struct Order: Codable, Sendable { var id: Int }
  final class Player: Sendable { let volume = Observed(0.5) }

  @Test func looking() throws {
    let (orders, player) = (Event<Order>("orders"), Player())

    let inspection = try Inspection.serve(at: "/tmp/app-%p.sock")
    inspection.include(orders, player.volume)
    Inspection.describe(Order.self) { order in "order \(order.id)" }

    #expect(inspection.path == "/tmp/app-\(ProcessInfo.processInfo.processIdentifier).sock")
    inspection.end()
  }

  @Test func tracing() async throws {
    let (orders, payments) = (Event<Order>("orders"), Event<Int>("payments"))
    let file = TemporaryFile("json")
    let path = file.path

    let trace = EventTrace(of: orders, payments, lastMegabytes: 4)
    await orders.send(Order(id: 1))
    try trace.write(to: path)

    #expect(trace.count == 1)
    #expect(try file.text.contains("orders"))
  }

  @Test func recording() async throws {
    let (orders, cancelled) = (Event<Order>("orders"), Signal("cancelled"))
    let file = TemporaryFile()
    let path = file.path

    let recording = try EventRecording(to: path)
    recording.record(orders, as: "orders")
    recording.record(signal: cancelled, as: "cancelled")
    await orders.send(Order(id: 2))
    try await recording.end()

    let outcome = try await EventPlayback(path).run(
      at: .asFastAsPossible, into: ["orders": .event(orders), "cancelled": .signal(cancelled)])

    #expect(outcome.sentCount == 1)

    try Simulation.run(seed: 7) {
      let orders = Event<Order>("orders")
      try await EventPlayback(path).run(
        into: ["orders": .event(orders), "cancelled": .nothing], clock: Simulation.clock)
    }
  }
}
