/// One event that is inspected, as a value that does not keep the event alive.
package struct InspectedEvent: Sendable {
  package let name: String?
  package let kind: HandlerTable.Kind
  package let anchor: EventAnchor

  /// The name, the number and the payload type; `nil` if the event is gone.
  package var identity: EventIdentity? { anchor.core?.identity }

  /// The number of the event, which equals ``EventIdentity/number``.
  package var id: UInt64 { anchor.number }

  init(_ core: EventCore, _ name: String?, _ kind: HandlerTable.Kind) {
    self.name = name
    self.kind = kind
    anchor = core.anchor
  }
}

extension HandlerTable {
  /// The events, as values that do not keep them alive.
  package var inspected: [InspectedEvent] {
    let kind = if case .event(_, let kind) = content { kind } else { HandlerTable.Kind.event }
    return events.map { InspectedEvent($0.core, $0.name, kind) }
  }

  /// The bus whose events these are; `nil` for one event.
  package var bus: EventBus? { if case .bus(let bus) = content { bus } else { nil } }
}

extension EventCore {
  /// The core of the event of occurrences that reached no handler; `nil` if it does not exist.
  package var unheardCore: EventCore? {
    (pendingWorkReference.load()?.unhandledReference.load()?.event as? any AnyEvent)?.core
  }
}

extension Failures {
  /// The number of the event of failures; `nil` if it does not exist.
  package var eventNumber: UInt64? { knownEvent?.core.anchor.number }
}

extension HandlerRecord {
  /// The event that the handler forwards to; `nil` if it does not.
  package final var forwardTarget: EventAnchor? {
    guard let options = details?.options, options.isForward else { return nil }
    return (options.owner?.object as? any AnyEvent)?.core.anchor
  }
}

extension HandlerToken {
  package var eventAnchor: EventAnchor { anchor }
}
