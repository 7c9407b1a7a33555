/// A thing whose events can be looked at while the program runs: an event, a keyed event, an
/// observed value, a question, or a bus.
///
/// If a type of yours has several events, make it conform by adding up the `inspected` of its
/// events:
///
///     extension Shop: Inspectable {
///       var inspected: InspectedEvents { orders.inspected + payments.inspected }
///     }
public protocol Inspectable: Sendable {
  /// The events, as a value that does not keep them alive.
  nonisolated var inspected: InspectedEvents { get }
}

/// The events of something ``Inspectable``, as a value that does not keep them alive.
public struct InspectedEvents: Sendable {
  package let events: [InspectedEvent]
  let buses: [InspectedBus]

  init(_ events: [InspectedEvent], buses: [InspectedBus] = []) {
    self.events = events
    self.buses = buses
  }

  /// Returns the events of both.
  public static func + (a: InspectedEvents, b: InspectedEvents) -> InspectedEvents {
    InspectedEvents(a.events + b.events, buses: a.buses + b.buses)
  }
}

/// One event that is inspected, as a value that does not keep the event alive.
package struct InspectedEvent: Sendable {
  /// The kind of an event, by the object that owns it: an ``Event``, a ``KeyedEvent``, an
  /// ``Observed`` or an ``EventQuestion``.
  package enum Kind: String, Sendable { case event, keyed, observed, question }

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

/// A bus that is inspected, as a value that does not keep the bus alive.
struct InspectedBus: Sendable {
  weak let bus: EventBus?
}

extension Event: Inspectable {
  /// The event itself: see ``Inspectable``.
  public nonisolated var inspected: InspectedEvents { InspectedEvents([InspectedEvent(core, name, .event)]) }
}

extension KeyedEvent: Inspectable {
  /// The event behind all keys: see ``Inspectable``.
  public var inspected: InspectedEvents { InspectedEvents([InspectedEvent(event.core, event.name, .keyed)]) }
}

extension Observed: Inspectable {
  /// The event of the value's changes: see ``Inspectable``.
  public var inspected: InspectedEvents {
    InspectedEvents([InspectedEvent(storage.event.core, storage.event.name, .observed)])
  }
}

extension EventQuestion: Inspectable {
  /// The event that brings a question to its responders: see ``Inspectable``.
  public var inspected: InspectedEvents { InspectedEvents([InspectedEvent(asked.core, asked.name, .question)]) }
}

extension EventBus: Inspectable {
  /// The events that the bus has now: see ``Inspectable``. Included in an inspection, a bus shows
  /// the events that it makes later, too.
  public var inspected: InspectedEvents {
    let events = all.flatMap { ($0 as? any Inspectable)?.inspected.events ?? [] }
    return InspectedEvents(events, buses: [InspectedBus(bus: self)])
  }
}

/// An event whose core is known without its payload type.
protocol CoreHolder: AnyObject, Sendable {
  nonisolated var core: EventCore { get }
}

extension Event: CoreHolder {}
