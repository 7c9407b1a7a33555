package struct InspectedEvent: Sendable {
  package let name: String?
  package let kind: HandlerTable.Kind
  package let anchor: EventAnchor

  package var identity: EventIdentity? { anchor.core?.identity }

  package var id: UInt64 { anchor.number }

  init(_ core: EventCore, _ name: String?, _ kind: HandlerTable.Kind) {
    self.name = name
    self.kind = kind
    anchor = core.anchor
  }
}

extension HandlerTable {
  package var inspected: [InspectedEvent] {
    let kind = if case .event(_, let kind) = content { kind } else { HandlerTable.Kind.event }
    return events.map { InspectedEvent($0.core, $0.name, kind) }
  }

  package var bus: EventBus? { if case .bus(let bus) = content { bus } else { nil } }
}

extension EventCore {
  package var unheardCore: EventCore? {
    (pendingWorkReference.load()?.unhandledReference.load()?.event as? any AnyEvent)?.core
  }
}

extension Failures {
  package var eventNumber: UInt64? { knownEvent?.core.anchor.number }
}

extension HandlerRecord {
  package final var forwardTarget: EventAnchor? {
    guard let options = details?.options, options.isForward else { return nil }
    return (options.owner?.object as? any AnyEvent)?.core.anchor
  }
}

extension HandlerToken {
  package var eventAnchor: EventAnchor { anchor }
}
