/// One event that is inspected, as a value that does not keep the event alive.
@usableFromInline package struct InspectedEvent: Sendable {
  /// The kind of an event, by the object that owns it: an ``Event``, a ``KeyedEvent``, an
  /// ``Observed`` or an ``EventQuestion``.
  @usableFromInline package enum Kind: String, Sendable { case event, keyed, observed, question }

  package let name: String?
  package let kind: Kind
  let anchor: EventAnchor

  /// The name, the number and the payload type; `nil` if the event is gone.
  package var identity: EventIdentity? { anchor.core?.identity(named: name) }

  /// The number of the event, which equals ``EventIdentity/number``.
  package var id: UInt64 { anchor.number }

  init(_ core: EventCore, _ name: String?, _ kind: Kind) {
    self.name = name
    self.kind = kind
    anchor = core.anchor
  }
}

extension HandlerTable {
  /// The events, as values that do not keep them alive.
  package var inspected: [InspectedEvent] {
    let kind = if case .event(_, let kind) = content { kind } else { InspectedEvent.Kind.event }
    return events.map { InspectedEvent($0.core, $0.name, kind) }
  }
}
