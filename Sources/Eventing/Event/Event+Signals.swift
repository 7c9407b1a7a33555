extension Event where Payload == Void {
  /// Sends without a value: see ``post(_:from:)``.
  @inlinable public nonisolated func post(from sender: (any AnyObject & Sendable)? = nil) { post((), from: sender) }

  /// Sends without a value, and returns a ticket: see ``submit(_:from:)``.
  public nonisolated func submit(from sender: (any AnyObject & Sendable)? = nil) -> SendTicket {
    submit((), from: sender)
  }

  /// Sends without a value, and waits: see ``send(_:from:)``.
  @inlinable @discardableResult
  public nonisolated(nonsending) func send(from sender: (any AnyObject & Sendable)? = nil) async -> SendReport {
    await send((), from: sender)
  }
}
