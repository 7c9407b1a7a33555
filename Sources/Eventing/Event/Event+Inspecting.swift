extension Event {
  // MARK: Isolated: these run between two occurrences, after the delivery of what was sent before

  /// Snapshots of all handlers, in the order in which they are called.
  ///
  /// Forwards and sequences are handlers, too. The event takes the snapshots between two
  /// occurrences, after everything sent before has been delivered. Calls on lanes may still be
  /// queued or running then. May be awaited inside a handler.
  ///
  /// - Complexity: O(handlers).
  public var handlers: [HandlerSnapshot] { core.snapshots() }

  /// Returns snapshots of the handlers that a filter selects: see ``handlers``.
  public func handlers(where filter: HandlerFilter) -> [HandlerSnapshot] { core.snapshots(where: filter) }

  /// Returns snapshots of some handlers of a keyed event: those in the tables that a closure
  /// accepts.
  ///
  /// - Parameter isIncluded: A closure that returns whether a table is accepted. Its argument is
  ///   the table of one key or of `untargeted`. For the core's own table, which has the handlers
  ///   of `anyKey`, the argument is `nil`.
  func handlers(in isIncluded: (KeyTable?) -> Bool) -> [HandlerSnapshot] {
    core.snapshots(in: isIncluded)
  }

  // MARK: Nonisolated: any thread may call these, and does not wait for a delivery

  /// The number of handlers; handlers whose owner has been released do not count.
  ///
  /// Callable from any thread and inside any handler, and never waits for a handler. Every add and
  /// every removal that has returned is counted.
  ///
  /// - Complexity: O(handlers).
  public nonisolated var handlerCount: Int { core.livingRecords { _, _ in true }.count }

  /// Whether there is any handler: see ``handlerCount``.
  ///
  /// - Complexity: O(handlers).
  public nonisolated var hasHandlers: Bool { handlerCount > 0 }

  /// Whether ``finish()`` was called. Handlers may still be running: ``quiesce()`` waits for them.
  ///
  /// - Complexity: O(1).
  public nonisolated var isFinished: Bool { core.mutex.withLock { unsafe core.isFinished } }

  /// Returns whether a handler is still part of this event.
  ///
  /// Callable from any thread and inside any handler, and never waits for a handler.
  ///
  /// - Returns: `false` if the handler was removed or used up, if its owner has been released, or
  ///   if it belongs to another event.
  /// - Complexity: O(1).
  public nonisolated func contains(_ token: HandlerToken) -> Bool {
    core.owns(token) && core.isAlive(token.record)
  }

  /// Returns whether a filter selects any handler: see ``contains(_:)``.
  ///
  /// - Complexity: O(handlers).
  public nonisolated func contains(where filter: HandlerFilter) -> Bool {
    !core.livingRecords(where: filter.isIncluded).isEmpty
  }
}

extension Event {
  /// Retains an object until the event is released.
  package nonisolated func keep(_ object: any AnyObject & Sendable) {
    let pendingWork = core.pendingWork
    core.mutex.withLock { unsafe pendingWork.ownedObjects.append(object) }
  }
}

extension Event: CustomStringConvertible {
  /// The name and the payload type.
  public nonisolated var description: String { "event \(name.map { "\"\($0)\" " } ?? "")of \(Payload.self)" }
}
