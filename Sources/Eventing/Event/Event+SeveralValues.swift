// An event of tuples takes the values one by one: `resized.post(3, 4)`. A signal takes none.

extension Event {
  /// Sends a tuple, given as separate values: see ``post(_:from:)``.
  @inlinable public nonisolated func post<First, Second, each Value>(
    _ first: First, _ second: Second, _ value: repeat each Value, from sender: (any AnyObject & Sendable)? = nil
  ) where Payload == (First, Second, repeat each Value) {
    post((first, second, repeat each value), from: sender)
  }

  /// Sends a tuple, given as separate values, and returns a ticket: see ``submit(_:from:)``.
  @inlinable public nonisolated func submit<First, Second, each Value>(
    _ first: First, _ second: Second, _ value: repeat each Value, from sender: (any AnyObject & Sendable)? = nil
  ) -> SendTicket where Payload == (First, Second, repeat each Value) {
    submit((first, second, repeat each value), from: sender)
  }

  /// Sends a tuple, given as separate values, and waits: see ``send(_:from:)``.
  @inlinable @discardableResult
  public nonisolated(nonsending) func send<First, Second, each Value>(
    _ first: First, _ second: Second, _ value: repeat each Value, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport where Payload == (First, Second, repeat each Value) {
    await send((first, second, repeat each value), from: sender)
  }
}

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
