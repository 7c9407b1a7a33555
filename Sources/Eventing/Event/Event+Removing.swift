// Removing is effective on return: no call is decided after it, on a lane neither, and a handler that an earlier handler of the same occurrence removes is
// not called. At most one call, which another thread had decided just before, may still be running; `quiesce()` waits for it. On the handler's own
// serial context (the main actor for `on: .main`, its serial queue, its actor) nothing at all runs afterwards.

extension Event {
  /// Removes a handler.
  ///
  /// No call is decided after this returns. One that another thread had decided just before may still be running: ``quiesce()`` waits for it.
  ///
  /// - Complexity: O(1), spread over the removals.
  /// - Returns: false if it was gone, or is another event's.
  @inlinable @discardableResult public nonisolated func remove(_ token: HandlerToken) -> Bool {
    guard core.owns(token) else { return false }
    return core.remove(token.record)
  }

  /// Removes those handlers that are still there, and returns how many.
  @discardableResult public nonisolated func remove(_ tokens: [HandlerToken]) -> Int { tokens.count { remove($0) } }

  /// Removes all handlers of that name, and returns how many there were. O(handlers).
  @discardableResult public nonisolated func remove(named name: String) -> Int { core.removeAll(where: named(name)) }

  /// Removes all handlers of these names, and returns how many there were. O(handlers).
  @discardableResult public nonisolated func remove(named names: [String]) -> Int {
    core.removeAll(where: named(names))
  }

  /// Removes all handlers with that tag, and returns how many there were. O(handlers).
  @discardableResult public nonisolated func remove(tagged tag: String) -> Int { core.removeAll(where: tagged(tag)) }

  /// Removes all handlers of that very object, and returns how many there were. O(handlers).
  ///
  /// In the owner's `deinit` they count as gone already.
  @discardableResult public nonisolated func remove(ownedBy owner: AnyObject) -> Int {
    core.removeAll { $1?.isForward != true && $1?.owner?.mayBe(owner) == true }
  }

  /// Removes all handlers, and returns how many there were. O(handlers).
  @discardableResult public nonisolated func removeAll() -> Int { core.removeAll { _, _ in true } }

  /// Ends the event: what was sent is delivered, then its handlers are released. Later sends reach nobody, and handlers added later are gone at once.
  ///
  /// For events that nobody lets go, such as a `static` one. Ending it twice is ending it once.
  public nonisolated func finish() { core.finish() }
}

// Which handlers a bulk verb means.
extension Event {
  nonisolated func named(_ name: String) -> (HandlerRecord, HandlerOptions?) -> Bool { { $1?.name == name } }
  nonisolated func named(_ names: [String]) -> (HandlerRecord, HandlerOptions?) -> Bool {
    { $1?.name.map(names.contains) ?? false }
  }
  nonisolated func tagged(_ tag: String) -> (HandlerRecord, HandlerOptions?) -> Bool {
    { $1?.tags?.contains(tag) ?? false }
  }
  nonisolated func owned(_ owner: AnyObject) -> (HandlerRecord, HandlerOptions?) -> Bool {
    // By address only, under the lock: `livingRecords` asks afterwards whether the owner is there.
    { $1?.isForward != true && $1?.owner?.mayBe(owner) == true }
  }
}
