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

/// The arguments of a handler that may have an owner.
@usableFromInline struct HandlerArguments: Sendable {
  @usableFromInline let payload: BorrowedPayload
  /// The owner, which is held for the length of the call.
  @usableFromInline let owner: (any AnyObject & Sendable)?

  @usableFromInline init(_ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?) {
    self.payload = payload
    self.owner = owner
  }
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
