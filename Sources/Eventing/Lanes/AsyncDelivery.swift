public import Dispatch

/// How an asynchronous handler runs.
public struct AsyncDelivery: Sendable {
  @usableFromInline let place: ExecutionPlace

  init(_ place: ExecutionPlace) { self.place = place }

  /// One call at a time, in order. This is the default.
  ///
  /// A call that is suspended holds up the next one of this handler, and nobody else.
  public static var inOrder: AsyncDelivery { inOrder() }

  /// One call at a time, in order; `buffering` says how much may wait.
  public static func inOrder(buffering: Buffering = .unbounded) -> AsyncDelivery {
    AsyncDelivery(.inOrder(nil, buffering))
  }

  /// One call at a time, in order, at the priority `utility`.
  public static var background: AsyncDelivery { background() }

  /// One call at a time, in order, at a priority.
  public static func background(_ priority: TaskPriority = .utility, buffering: Buffering = .unbounded) -> AsyncDelivery
  {
    AsyncDelivery(.inOrder(priority.rawValue, buffering))
  }

  /// Up to `limit` calls at the same time, taken in order. A limit below 1 counts as 1.
  public static func concurrent(limit: Int, buffering: Buffering = .unbounded) -> AsyncDelivery {
    AsyncDelivery(.concurrent(max(1, limit), buffering))
  }

  /// A task for every call: see ``task(priority:)``.
  public static var task: AsyncDelivery { task() }

  /// A task for every call, in no order between occurrences.
  ///
  /// For a `send` it is a child task of the caller: cancelled with it, at its priority unless another is given, with its task-local values, and
  /// finished before `send` returns. For `post` and `submit` it is a task of its own.
  public static func task(priority: TaskPriority? = nil) -> AsyncDelivery { AsyncDelivery(.task(priority?.rawValue)) }
}

extension AsyncDelivery: CustomStringConvertible {
  /// In one line.
  public var description: String { place.description }
}

// Only for their messages: an asynchronous closure was given where none can run.
extension AsyncDelivery {
  /// Not for asynchronous handlers.
  @available(
    *, unavailable,
    message:
      "an inline handler cannot wait; leave out 'on:' for an asynchronous handler, or make the closure synchronous"
  )
  public static var inline: AsyncDelivery { fatalError("unavailable") }

  /// Not for asynchronous handlers.
  @available(
    *, unavailable,
    message: "a dispatch queue runs synchronous handlers only; use 'on: .background' for a closure that awaits"
  )
  public static func queue(_ queue: DispatchQueue, buffering: Buffering = .unbounded) -> AsyncDelivery {
    fatalError("unavailable")
  }
}
