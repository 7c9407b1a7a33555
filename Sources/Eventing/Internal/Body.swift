extension Handler {
  /// The closure of a handler, by what it needs around it.
  @usableFromInline enum Body: Sendable {
    /// Nothing: the payload alone will do.
    case direct(@Sendable (Payload) throws -> Void)
    case directAsync(@Sendable (Payload) async throws -> Void)
    /// Its owner.
    case sync(@Sendable (Call<Payload>) throws -> Void)
    case async(@Sendable (Call<Payload>) async throws -> Void)
    case mainAsync(@MainActor @Sendable (Call<Payload>) async throws -> Void)
    /// The actor that is its owner.
    case isolated(@Sendable (isolated any Actor, Call<Payload>) async throws -> Void)
    /// It says whether the handlers after it see the occurrence.
    case intercept(@Sendable (Payload) throws -> Interception)
    /// It is a sequence.
    case sequence(Channel<Payload>)
    /// It is made of another handler, or of another event.
    case relay(@Sendable (DetailedRecord, Home) -> Relay<Payload>)
  }
}

/// The closure without its isolation: whoever calls it is on the main queue, and checks that once a batch.
@usableFromInline func onMainActor<Value>(
  _ body: @escaping @MainActor @Sendable (Value) throws -> Void
) -> @Sendable (Value) throws -> Void {
  // Safe: a synchronous function is called alike with an isolation and without; MainActor.assumeIsolated in the standard library does the same.
  unsafe unsafeBitCast(body, to: (@Sendable (Value) throws -> Void).self)
}

/// The closure of a lane. A class with constants, so that its calls retain nothing.
@usableFromInline final class LaneBody<Payload: Sendable>: Sendable {
  @usableFromInline let body: Handler<Payload>.Body
  /// The body if it is `direct`.
  @usableFromInline let direct: @Sendable (Payload) throws -> Void
  @usableFromInline let isDirect: Bool

  @inlinable init(_ body: Handler<Payload>.Body) {
    self.body = body
    if case .direct(let body) = body {
      direct = body
      isDirect = true
    } else {
      direct = { _ in }
      isDirect = false
    }
  }
}
