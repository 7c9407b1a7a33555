public import Dispatch

/// The place where a synchronous handler runs.
///
/// A closure that awaits takes an ``AsyncDelivery``, and a `@MainActor` closure takes a
/// ``MainDelivery``. The three are separate types so that `on:` tells the compiler which closure to
/// expect.
public struct SyncDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  @inlinable init(_ place: ExecutionPlace) { self.place = place }

  /// The thread or task that delivers the occurrence, which is the sender's if the event is idle.
  /// This is the default.
  ///
  /// Any thread may deliver, so a handler that needs to run in a certain place must name it. An
  /// inline handler delays the sender and the handlers after it.
  @inlinable public static var inline: SyncDelivery { SyncDelivery(.inline) }

  /// The handler's own serial queue, with the quality of service `utility`: see ``background(_:)``.
  public static var background: SyncDelivery { background(.utility) }

  /// Returns a delivery on the handler's own serial queue: one call at a time, in order.
  ///
  /// The handler may block, which delays only its own calls but occupies a thread. On Linux,
  /// Dispatch has at most 255 threads for such queues: if that many handlers block, others have to
  /// wait, including those of other events. `EventDiagnostics` with `stuckAfter:` reports blocked
  /// handlers.
  ///
  /// - Parameter priority: The priority that selects the quality of service of the queue.
  public static func background(_ priority: TaskPriority) -> SyncDelivery {
    SyncDelivery(.background(priority.rawValue, .unbounded))
  }

  /// Returns a delivery on a dispatch queue: one call at a time, in order, even if the queue is
  /// concurrent.
  ///
  /// `send` waits for the queue, so the queue must not stay suspended forever.
  ///
  /// - Parameter queue: The queue, serial or concurrent. The handler retains it.
  public static func queue(_ queue: DispatchQueue) -> SyncDelivery { SyncDelivery(.queue(queue, .unbounded)) }
}

extension SyncDelivery: DescribedByContent {
  var content: ExecutionPlace { place }
}

/// Delivery on the main actor, for `@MainActor` closures, synchronous or asynchronous.
public struct MainDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  /// The main actor: one call at a time, in order.
  ///
  /// A synchronous handler is called at once if the event delivers on the main queue and no call of
  /// the handler is queued or running. Otherwise, the call is queued on the main queue. The sender
  /// never blocks to reach the main queue. Queued calls yield to other work on the main queue after
  /// 4 ms.
  public static var main: MainDelivery { MainDelivery(place: .main(.unbounded)) }
}

extension MainDelivery: DescribedByContent {
  var content: ExecutionPlace { place }
}

/// How the calls of an asynchronous handler follow one another.
public struct AsyncDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  init(_ place: ExecutionPlace) { self.place = place }

  /// One call at a time, in order. This is the default.
  ///
  /// A suspended call delays only the next call of this handler.
  public static var inOrder: AsyncDelivery { AsyncDelivery(.inOrder(nil, .unbounded)) }

  /// Returns a delivery with one call at a time, in order, in tasks with the given priority.
  ///
  /// - Parameter priority: The priority of the tasks.
  public static func inOrder(priority: TaskPriority) -> AsyncDelivery {
    AsyncDelivery(.inOrder(priority.rawValue, .unbounded))
  }

  /// Returns a delivery mode in which calls may overlap, but begin in order.
  ///
  /// - Parameter limit: The maximum number of overlapping calls. A limit below 1 counts as 1.
  public static func concurrent(limit: Int) -> AsyncDelivery {
    AsyncDelivery(.concurrent(max(1, limit), .unbounded))
  }

  /// A task for each call: see ``task(priority:)``.
  public static var task: AsyncDelivery { task() }

  /// Returns a delivery with a task for each call, in no order between occurrences.
  ///
  /// For ``Event/send(_:from:)``, the task is a child task of the caller. It's cancelled with the
  /// caller, has the caller's task-local values, and has finished by the time `send` returns. For
  /// ``Event/post(_:from:)`` and ``Event/submit(_:from:)``, it's a separate task.
  ///
  /// - Parameter priority: The priority of the tasks; `nil` for the priority of the caller of
  ///   `send`.
  public static func task(priority: TaskPriority? = nil) -> AsyncDelivery { AsyncDelivery(.task(priority?.rawValue)) }
}

extension AsyncDelivery: DescribedByContent {
  var content: ExecutionPlace { place }
}
