/// The closure of a handler, by what it needs around it.
@usableFromInline enum HandlerBody: Sendable {
  /// Nothing: the payload alone will do.
  case direct(ErasedHandler)
  case directAsync(ErasedAsyncHandler)
  /// Its owner.
  case sync(@Sendable (HandlerArguments) throws -> Void)
  case async(@Sendable (HandlerArguments) async throws -> Void)
  case mainAsync(@MainActor @Sendable (HandlerArguments) async throws -> Void)
  /// The actor that is its owner.
  case isolated(@Sendable (isolated any Actor, HandlerArguments) async throws -> Void)
  /// It says whether the handlers after it see the occurrence.
  case intercept(@Sendable (BorrowedPayload) throws -> Interception)
  /// It is a sequence.
  case sequence(SequenceHub)
  /// It is called inline with what is made of the payload, unless there is something to decide.
  case view(ErasedView, @Sendable (DetailedRecord, EventIdentity) -> TransformedHandler)
  /// It is made of another handler, or of another event.
  case relay(@Sendable (DetailedRecord, EventIdentity) -> TransformedHandler)
}

/// A handler, whatever its payload.
@usableFromInline struct AnyHandler: Sendable {
  @usableFromInline var options = HandlerOptions()
  @usableFromInline var isOnce = false
  @usableFromInline var place: ExecutionPlace
  @usableFromInline var body: HandlerBody
  @usableFromInline let type: PayloadType

  @usableFromInline var inline: ErasedHandler? {
    if case .inline = place, case .direct(let handling) = body { handling } else { nil }
  }

  /// How to call it, if that is all there is to it.
  @usableFromInline var viewer: ViewTarget? {
    guard case .inline = place, !isOnce, options.owner == nil else { return nil }
    switch body {
    case .direct(let handler): return .handler(handler)
    case .view(let view, _): return .view(view)
    default: return nil
    }
  }

  @usableFromInline init(_ place: ExecutionPlace, _ body: HandlerBody, _ type: PayloadType) {
    self.place = place
    self.body = body
    self.type = type
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
@usableFromInline final class LaneHandler: Sendable {
  @usableFromInline let body: HandlerBody
  /// The body if it is `direct`.
  @usableFromInline let direct: ErasedHandler
  @usableFromInline let isDirect: Bool
  @usableFromInline let type: PayloadType

  @usableFromInline init(_ body: HandlerBody, _ type: PayloadType) {
    self.body = body
    self.type = type
    if case .direct(let body) = body {
      direct = body
      isDirect = true
    } else {
      direct = .none
      isDirect = false
    }
  }
}
