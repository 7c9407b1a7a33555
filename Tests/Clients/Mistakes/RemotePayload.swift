// swift-format-ignore-file
// A payload that only the main actor may encode and decode.
// error in: OnMain OnMainApproachable Swift5OnMainApproachable
import EventingTransport

#if MENDED
  nonisolated struct OrderPlaced: Codable, Sendable { var id: Int }
#else
  struct OrderPlaced: Codable, Sendable { var id: Int }
#endif

func make(_ bus: InMemoryTransport) -> RemoteEvent<OrderPlaced> {
  RemoteEvent("orders.placed", over: bus)  // main actor-isolated conformance of 'OrderPlaced' to 'Decodable' cannot satisfy // main actor-isolated conformance of 'OrderPlaced' to 'Encodable' cannot satisfy
}
