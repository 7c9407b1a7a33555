public import Dispatch

/// The place where a synchronous handler runs.
///
/// A closure that awaits takes an ``AsyncDelivery``, and a closure of the main actor takes a
/// ``MainDelivery``. The three are separate types so that `on:` tells the compiler which closure to
/// expect.
public struct SyncDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  @inlinable init(_ place: ExecutionPlace) { self.place = place }

  /// The thread or task that delivers the occurrence: that of the sender, if the event is idle.
  /// This is the default.
  ///
  /// Any thread may deliver, so a handler that needs a certain place must name that place. An
  /// inline handler delays the sender and the handlers after it.
  @inlinable public static var inline: SyncDelivery { SyncDelivery(.inline) }

  /// A serial queue of the handler's own, with the quality of service `utility`; see
  /// ``background(_:)``.
  public static var background: SyncDelivery { background(.utility) }

  /// Returns a delivery on a serial queue of the handler's own: one call at a time, in order.
  ///
  /// The handler may block: it delays only its own calls. A handler that blocks takes a thread. On
  /// Linux, Dispatch has at most 255 threads for such queues: if as many handlers block, further
  /// ones wait, also of other events. `EventDiagnostics` with `stuckAfter:` tell of them.
  ///
  /// - Parameter priority: The priority that selects the quality of service of the queue.
  public static func background(_ priority: TaskPriority) -> SyncDelivery {
    SyncDelivery(.background(priority.rawValue, .unbounded))
  }

  /// Returns a delivery on a dispatch queue: one call at a time, in order, even if the queue is
  /// concurrent.
  ///
  /// A `send` waits for the queue, so the queue must not be suspended for ever.
  ///
  /// - Parameter queue: The queue, serial or concurrent. The handler retains it.
  public static func queue(_ queue: DispatchQueue) -> SyncDelivery { SyncDelivery(.queue(queue, .unbounded)) }
}

extension SyncDelivery: CustomStringConvertible {
  public var description: String { place.description }
}

/// Delivery on the main actor. The closures are `@MainActor`, synchronous or asynchronous.
public struct MainDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  /// The main actor: one call at a time, in order.
  ///
  /// A synchronous handler is called at once if the event delivers on the main queue, and no call
  /// of the handler is queued or running. Otherwise the call is queued on the main queue. The
  /// sender never blocks to reach the main queue. Queued calls give way to other work on the main
  /// queue after 4 ms.
  public static var main: MainDelivery { MainDelivery(place: .main(.unbounded)) }
}

extension MainDelivery: CustomStringConvertible {
  public var description: String { place.description }
}
