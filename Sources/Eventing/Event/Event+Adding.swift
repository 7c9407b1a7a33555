extension Event: EventSource {
  /// Adds handlers as a group: see ``EventSource/add(_:)``.
  @discardableResult public nonisolated func add(_ handlers: [Handler<Payload>]) -> [HandlerToken] {
    let anchor = core.anchor
    if EventRegistry.isOn { EventRegistry.join(anchor, name, hasHandler: true) }
    let newHandlers = ContiguousArray(handlers.map { core.pendingHandler($0.any, anchor) })
    core.add(newHandlers)
    return newHandlers.map { HandlerToken($0.record, anchor) }
  }

  /// Adds a handler: see ``EventSource/attach(_:)``.
  @discardableResult public nonisolated func attach(_ handler: Handler<Payload>) -> HandlerToken {
    let anchor = core.anchor
    if EventRegistry.isOn { EventRegistry.join(anchor, name, hasHandler: true) }
    let newHandler = core.pendingHandler(handler.any, anchor)
    core.add(newHandler)
    return HandlerToken(newHandler.record, anchor)
  }

  /// Adds an inline handler without options: see ``EventSource/attachInline(once:fileID:line:_:)``.
  @inlinable @discardableResult public nonisolated func attachInline(
    once: Bool, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    core.attachInline(once: once, .whileDebugging(fileID, line), HandlerClosure<Payload>(body).erased, name)
  }
}
