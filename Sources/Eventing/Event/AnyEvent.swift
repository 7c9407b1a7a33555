/// An ``Event`` whose payload type is not known.
protocol AnyEvent: Actor, HandlerRegistry {
  nonisolated var name: String? { get }
  nonisolated var core: EventCore { get }
  /// Returns a source of the payloads that `as?` can cast to another type. The source passes
  /// nothing on once the bus handler has ended.
  nonisolated func source<Other: Sendable>(of type: Other.Type, for handler: BusHandler) -> any EventSource<Other>
  /// Whether the payload type is that of a protocol. Then other events forward payloads to it.
  nonisolated var isOfProtocol: Bool { get }
}

extension AnyEvent {
  /// Returns snapshots of handlers, between two occurrences.
  func snapshots(where filter: HandlerFilter) -> [HandlerSnapshot] { core.snapshots(where: filter) }
}

extension Event: AnyEvent {
  @inlinable public nonisolated var handlerTable: HandlerTable {
    HandlerTable(content: .event(BorrowedCore(self), .event))
  }
}
