protocol AnyEvent: Actor, HandlerRegistry {
  nonisolated var name: String? { get }
  nonisolated var core: EventCore { get }
  nonisolated func source<Other: Sendable>(of type: Other.Type, for handler: BusHandler) -> any EventSource<Other>
  nonisolated var isOfProtocol: Bool { get }
}

extension AnyEvent {
  func snapshots(where filter: HandlerFilter) -> [HandlerSnapshot] { core.snapshots(where: filter) }
}

extension Event: AnyEvent {
  @inlinable public nonisolated var handlerTable: HandlerTable {
    HandlerTable(content: .event(BorrowedCore(self), .event))
  }
}
