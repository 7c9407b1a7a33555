public import Dispatch

// Unavailable declarations for likely mistakes, in cases where the compiler's own message wouldn't
// say what to write instead.

extension Event {
  @available(*, unavailable, message: "several values are one payload, a tuple: post((first, second))")
  public nonisolated func post<First, Second>(
    _ first: First, _ second: Second, _ more: Any..., from sender: (any AnyObject & Sendable)? = nil
  ) { fatalError("unavailable") }
}

extension AsyncDelivery {
  /// Unavailable: a dispatch queue runs synchronous handlers.
  @available(
    *, unavailable,
    message: "a closure that awaits blocks no thread: leave 'on:' out, or say '.inOrder(priority: .utility)'"
  )
  public static var background: AsyncDelivery { fatalError("unavailable") }

  /// Unavailable: a dispatch queue runs synchronous handlers.
  @available(
    *, unavailable,
    message: "a dispatch queue runs closures that do not await: leave 'on:' out, or say '.inOrder(priority:)'"
  )
  public static func queue(_ queue: DispatchQueue) -> AsyncDelivery { fatalError("unavailable") }
}

extension EventSource {
  @available(*, unavailable, message: "a function is the argument 'perform:': addHandler(perform: function)")
  @_disfavoredOverload @discardableResult
  public nonisolated func addHandler(_ function: @escaping (Payload) async throws -> Void) -> HandlerToken {
    fatalError("unavailable")
  }

  @available(
    *, unavailable,
    message: "a pace belongs to the handler: addHandler(.debounced(for: .milliseconds(300))) { payload in … }"
  )
  public nonisolated func debounce(for pause: Duration) -> Self { fatalError("unavailable") }

  @available(
    *, unavailable,
    message: "a pace belongs to the handler: addHandler(.throttled(every: .milliseconds(100))) { payload in … }"
  )
  public nonisolated func throttle(for interval: Duration) -> Self { fatalError("unavailable") }
}

extension HandlerToken {
  @available(*, unavailable, message: "a token has no cancel: token.remove()")
  public func cancel() { fatalError("unavailable") }
}
