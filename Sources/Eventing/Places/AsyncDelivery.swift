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
