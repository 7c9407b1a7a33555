public import Eventing

// Common mistakes. Each declaration is unavailable, and its message says what to write instead.

extension RemoteEvent {
  @available(*, unavailable, message: "a payload that is not Codable needs a codec: RemoteEvent(_, over:, codec:)")
  @_disfavoredOverload public convenience init(_ subject: String, over transport: any Transport) {
    fatalError("unavailable")
  }
  @available(
    *, unavailable, message: "over: takes what can be published on: a stream of the connection, or its 'plain'"
  )
  public convenience init(_ subject: String, over connection: any TransportConnection) { fatalError("unavailable") }
  @available(
    *, unavailable, message: "over: takes what can be published on: a stream of the connection, or its 'plain'"
  )
  public convenience init(_ subject: String, over connection: any TransportConnection, codec: Codec<Payload>) {
    fatalError("unavailable")
  }

  @available(
    *, unavailable, message: "a remote event is published, which may fail: try await event.publish(payload)"
  )
  public func post(_ payload: Payload) { fatalError("unavailable") }
  @available(
    *, unavailable,
    message:
      "a remote event is published: try await event.publish(payload) returns when it is stored; it does not wait for handlers of other processes"
  )
  @discardableResult public func send(_ payload: Payload) async -> SendReport { fatalError("unavailable") }
  @available(
    *, unavailable, message: "a remote event is published, which may fail: try await event.publish(payload)"
  )
  @discardableResult public func submit(_ payload: Payload) -> SendTicket { fatalError("unavailable") }
}
