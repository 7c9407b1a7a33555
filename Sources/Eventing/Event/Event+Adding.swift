extension Event: EventSource {
  /// Adds handlers as a group: see ``EventSource/add(contentsOf:)``.
  @discardableResult public nonisolated func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    let anchor = core.anchor
    if Instruments.areOn { Instruments.joined(anchor, hasHandler: true) }
    let newHandlers = ContiguousArray(handlers.map { core.pendingHandler($0.any, anchor) })
    core.add(newHandlers)
    return newHandlers.map { HandlerToken($0.record, anchor) }
  }

  /// Adds a handler: see ``EventSource/add(_:)``.
  @discardableResult public nonisolated func add(_ handler: Handler<Payload>) -> HandlerToken {
    let anchor = core.anchor
    if Instruments.areOn { Instruments.joined(anchor, hasHandler: true) }
    let newHandler = core.pendingHandler(handler.any, anchor)
    core.add(newHandler)
    return HandlerToken(newHandler.record, anchor)
  }

  /// Removes a handler: see ``HandlerRegistry/remove(_:)``.
  // An event alone need not be retained, which saves 48 instructions (x86-64 Linux).
  @inlinable @discardableResult public nonisolated func remove(_ token: HandlerToken) -> Bool { core.remove(token) }

  @inlinable nonisolated func addInline(
    once: Bool, _ source: SourceLine, _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    core.addInline(once: once, source, HandlerClosure<Payload>(body).erased)
  }
}
