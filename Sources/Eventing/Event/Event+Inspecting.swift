extension Event {
  // MARK: Between two occurrences, after all that was sent before

  /// What the handlers are like, in the order in which they are called. O(handlers).
  public var handlers: [HandlerSnapshot] { core.snapshots { _ in true } }

  /// Those that are locked.
  public var lockedHandlers: [HandlerSnapshot] { handlers.filter(\.isLocked) }

  /// Those that are not locked.
  public var unlockedHandlers: [HandlerSnapshot] { handlers.filter { !$0.isLocked } }

  /// Those that belong to that very object.
  public func handlers(ownedBy owner: AnyObject) -> [HandlerSnapshot] {
    core.snapshots { $0?.isForward != true && $0?.owner?.isSame(as: owner) == true }
  }

  /// Those of a keyed event that are in certain tables.
  func handlers(in isIncluded: (KeyTable?) -> Bool) -> [HandlerSnapshot] {
    core.snapshots(where: { _ in true }, in: isIncluded)
  }

  // MARK: At once, from anywhere

  /// How many handlers there are now; those whose owner is gone do not count. O(handlers).
  public nonisolated var handlerCount: Int { core.livingRecords { _, _ in true }.count }

  /// Whether there is any handler. O(handlers).
  public nonisolated var hasHandlers: Bool { handlerCount > 0 }

  /// Whether the handler is there. O(1).
  public nonisolated func contains(_ token: HandlerToken) -> Bool {
    core.owns(token) && core.isAlive(token.record)
  }

  /// Whether there is a handler of that name. O(handlers).
  public nonisolated func contains(named name: String) -> Bool { !core.livingRecords(where: named(name)).isEmpty }

  /// Returns when nothing that was sent before is still running, on whatever lane, handlers that were removed included.
  ///
  /// It covers this event: what the event forwarded has entered the target, or is queued there, and may still be
  /// running. HandlerArguments `quiesce()` of the target next. (`send` waits for the targets' handlers too.)
  ///
  /// Inside a handler it does not wait for that handler, nor for what waits for it. Cancelling the task changes nothing.
  public nonisolated(nonsending) func quiesce() async {
    let completion = Completion(.ticket)
    core.enqueue(.barrier(completion))
    _ = await completion.wait()
  }
}

extension Event {
  /// Keeps an object until the event goes.
  package nonisolated func keep(_ object: any AnyObject & Sendable) {
    let pendingWork = core.pendingWork
    core.mutex.withLock { unsafe pendingWork.kept.append(object) }
  }
}

extension Event: CustomStringConvertible {
  /// Its name and payload.
  public nonisolated var description: String { "event \(name.map { "\"\($0)\" " } ?? "")of \(Payload.self)" }
}
