public import Eventing

extension RemoteEvent {
  /// Adds an inline handler that can keep a message from the handlers that follow, or change what
  /// they receive: see ``Eventing/Event/intercept(_:fileID:line:perform:)``.
  ///
  /// A message that an interceptor stops counts as handled, and is acknowledged. A dead letter
  /// contains the original message.
  @discardableResult public func intercept(
    _ options: InterceptorOption..., fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    event.addInterceptor(options, fileID, line) { message in
      try body(message.payload).map { message.with($0) }
    }
  }

  /// Adds an interceptor that lives as long as an object: see
  /// ``intercept(_:fileID:line:perform:)``.
  @discardableResult public func intercept<Owner: AnyObject & Sendable>(
    _ options: InterceptorOption..., owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    event.addInterceptor(options, owner, fileID, line) { owner, message in
      try body(owner, message.payload).map { message.with($0) }
    }
  }
}

extension RemoteKeyedEvent {
  /// Adds an interceptor of the messages to all keys: see
  /// ``RemoteEvent/intercept(_:fileID:line:perform:)``.
  @discardableResult public func intercept(
    _ options: InterceptorOption..., fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Key, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    event.addInterceptor(options, fileID, line) { key, message in
      try body(key, message.payload).map { message.with($0) }
    }
  }

  /// Adds an interceptor that lives as long as an object: see
  /// ``intercept(_:fileID:line:perform:)``.
  @discardableResult public func intercept<Owner: AnyObject & Sendable>(
    _ options: InterceptorOption..., owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Owner, Key, Payload) throws -> Interception<Payload>
  ) -> HandlerToken {
    event.addInterceptor(options, owner, fileID, line) { owner, key, message in
      try body(owner, key, message.payload).map { message.with($0) }
    }
  }
}
