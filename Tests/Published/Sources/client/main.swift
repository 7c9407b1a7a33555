import Eventing
import EventingInspection
import EventingLog
import EventingNATS
import Foundation
import Logging

// Arguments: the address of a NATS server, a path for the inspector's socket, and a file for what the inspector records.
let arguments = CommandLine.arguments

struct Order: Codable, Sendable { var id: Int }
struct NotBilled: Error {}

try Inspection.serve(at: arguments[2])  // sees the events that are made from here on
let orders = Event<Order>("orders")
orders.addHandler(.named("billing")) { order throws in if order.id == 2 { throw NotBilled() } }
orders.failures.log(to: Logger(label: "client"), as: "orders")

let nats = try await NATS.connect(arguments[1])
let placed = RemoteEvent<Order>("orders.placed", over: nats.plain)
let arrived = placed.payloads()
try await placed.listen()
for id in 1...2 { try await placed.publish(Order(id: id)) }
for await order in arrived {
  print("billed:", await orders.send(order))
  if order.id == 2 { break }
}
await nats.close(within: .seconds(10))

let inspector = Process()
inspector.executableURL = URL(filePath: arguments[0]).deletingLastPathComponent().appending(path: "inspector")
inspector.arguments = ["record", arguments[2], "--seconds", "1", "--output", arguments[3]]
try inspector.run()
inspector.waitUntilExit()
print("inspector ended with", inspector.terminationStatus)
