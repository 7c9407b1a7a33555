// Sending through the event of a payload type.

extension EventBus {
  /// Sends through the event of the payload's type without waiting: see ``Event/post(_:from:)``.
  ///
  /// ``event(for:)`` makes the event if there is none.
  public func post<Payload: Sendable>(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) {
    event(for: Payload.self).post(payload, from: sender)
  }

  /// Sends through the event of the payload's type and waits for its handlers: see
  /// ``Event/send(_:from:)``.
  @discardableResult public nonisolated(nonsending) func send<Payload: Sendable>(
    _ payload: Payload, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport { await event(for: Payload.self).send(payload, from: sender) }
}
