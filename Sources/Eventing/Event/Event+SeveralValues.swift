// Events of tuples take their values one by one: `resized.post(3, 4)`. Signals take none.

extension Event {
  /// Sends several values without waiting.
  @inlinable public nonisolated func post<First, Second, each Value>(
    _ first: First, _ second: Second, _ value: repeat each Value, from sender: (any AnyObject & Sendable)? = nil
  ) where Payload == (First, Second, repeat each Value) {
    post((first, second, repeat each value), from: sender)
  }

  /// Sends several values without waiting; the ticket's report can be awaited later.
  @inlinable public nonisolated func submit<First, Second, each Value>(
    _ first: First, _ second: Second, _ value: repeat each Value, from sender: (any AnyObject & Sendable)? = nil
  ) -> Ticket where Payload == (First, Second, repeat each Value) {
    submit((first, second, repeat each value), from: sender)
  }

  /// Sends several values, and returns when every handler that the occurrence reached has finished.
  @inlinable @discardableResult
  public nonisolated(nonsending) func send<First, Second, each Value>(
    _ first: First, _ second: Second, _ value: repeat each Value, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport where Payload == (First, Second, repeat each Value) {
    await send((first, second, repeat each value), from: sender)
  }
}

extension Event where Payload == Void {
  /// Sends without waiting.
  @inlinable public nonisolated func post(from sender: (any AnyObject & Sendable)? = nil) { post((), from: sender) }

  /// Sends without waiting; the ticket's report can be awaited later.
  public nonisolated func submit(from sender: (any AnyObject & Sendable)? = nil) -> Ticket { submit((), from: sender) }

  /// Sends, and returns when every handler that the occurrence reached has finished.
  @inlinable @discardableResult
  public nonisolated(nonsending) func send(from sender: (any AnyObject & Sendable)? = nil) async -> SendReport {
    await send((), from: sender)
  }
}
