public import Dispatch

/// Where a synchronous handler runs.
///
/// A closure that awaits takes an ``AsyncDelivery``, one for the main actor a ``MainDelivery``: they are three types so that `on:` tells
/// the compiler which closure to expect.
public struct Delivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  @inlinable init(_ place: ExecutionPlace) { self.place = place }

  /// Right here: on the thread or task that delivers the occurrence. This is the default.
  ///
  /// That may be any thread: a handler that needs a certain place says so.
  @inlinable public static var inline: Delivery { Delivery(.inline) }

  /// On a serial queue of the handler's own, in order, at the quality of service named `utility`.
  public static var background: Delivery { background() }

  /// On a serial queue of the handler's own, in order, at the quality of service of that priority.
  ///
  /// It may block: it delays nobody but itself.
  public static func background(_ priority: TaskPriority = .utility, buffering: Buffering = .unbounded) -> Delivery {
    Delivery(.background(priority.rawValue, buffering))
  }

  /// On a dispatch queue, one call at a time and in order, even where the queue is a concurrent one.
  public static func queue(_ queue: DispatchQueue, buffering: Buffering = .unbounded) -> Delivery {
    Delivery(.queue(queue, buffering))
  }
}

extension Delivery: CustomStringConvertible {
  /// In one line.
  public var description: String { place.description }
}
