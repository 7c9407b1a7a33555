@usableFromInline enum HandlerBody: Sendable {
  case direct(ErasedHandler)
  case directAsync(ErasedAsyncHandler)
  case sync(@Sendable (HandlerArguments) throws -> Void)
  case async(@Sendable (HandlerArguments) async throws -> Void)
  case isolated(@Sendable (isolated any Actor, HandlerArguments) async throws -> Void)
  case passing(BatchPassage)
  case perRecord(@Sendable (DetailedRecord, EventAnchor) -> HandlerBody)
  case intercept(@Sendable (HandlerArguments) throws -> InterceptorDecision<SharedPayload>)
  case sequence(SequenceHub)
  /// The event calls the first closure on the fast path; otherwise it calls the handler that the
  /// second one makes.
  case view(ErasedView, @Sendable (DetailedRecord, EventAnchor) -> TransformedHandler)
  case relay(@Sendable (DetailedRecord, EventAnchor) -> TransformedHandler)
}

@usableFromInline typealias BatchPassage = @Sendable (BorrowedPayload, [Completion], _ count: Int) async -> Outcome

// Wrapping users' closures, by the parameters that they take and the place where they run.
extension HandlerBody {
  @inlinable init<Payload: Sendable>(sync body: @escaping @Sendable (Payload) throws -> Void) {
    self = .direct(HandlerClosure<Payload>(body).erased)
  }
  @inlinable init<Payload: Sendable>(async body: @escaping @Sendable (Payload) async throws -> Void) {
    self = .directAsync(AsyncHandlerClosure<Payload>(body).erased)
  }
  @inlinable init<Payload: Sendable>(main body: @escaping @MainActor @Sendable (Payload) throws -> Void) {
    self.init(sync: RuntimeSPI.withoutMainActor(body))
  }
  @inlinable init<Payload: Sendable>(mainAsync body: @escaping @MainActor @Sendable (Payload) async throws -> Void) {
    self = .async { try await body($0.payload.payload()) }
  }
  @inlinable init<Owner: AnyObject, Payload: Sendable>(sync body: @escaping @Sendable (Owner, Payload) throws -> Void) {
    self = .sync { try body($0.owner(), $0.payload.payload()) }
  }
  @inlinable init<Owner: AnyObject, Payload: Sendable>(
    async body: @escaping @Sendable (Owner, Payload) async throws -> Void
  ) {
    self = .async { try await body($0.owner(), $0.payload.payload()) }
  }
  @inlinable init<Owner: AnyObject, Payload: Sendable>(
    main body: @escaping @MainActor @Sendable (Owner, Payload) throws -> Void
  ) {
    self = .sync(RuntimeSPI.withoutMainActor { try body($0.owner(), $0.payload.payload()) })
  }
  @inlinable init<Owner: AnyObject, Payload: Sendable>(
    mainAsync body: @escaping @MainActor @Sendable (Owner, Payload) async throws -> Void
  ) {
    self = .async { try await body($0.owner(), $0.payload.payload()) }
  }
  init<Isolation: Actor, Payload: Sendable>(
    isolated body: @escaping @Sendable (isolated Isolation, Payload) async throws -> Void
  ) {
    self = .isolated { actor, call in
      // Safe: the owner of this handler is the actor that it was created with.
      try await body(unsafe unsafeDowncast(actor, to: Isolation.self), call.payload.payload())
    }
  }
}

extension HandlerBody {
  /// For a handler without a lane, which would keep the object itself.
  func inlineCall(keeping object: (any AnyObject & Sendable)?) -> (@Sendable (HandlerArguments) throws -> Void)? {
    switch self {
    case .sync(let body) where object == nil: body
    case .sync(let body): { call in try withExtendedLifetime(object) { try body(call) } }
    case .direct(let body): { call in try withExtendedLifetime(object) { try body(call.payload) } }
    default: nil
    }
  }
}

extension HandlerArguments {
  @inlinable func owner<Object: AnyObject>(_: Object.Type = Object.self) -> Object {
    guard let owner else { preconditionFailure("a handler with an owner is called with it") }
    // Safe: the owner of a handler is the object that it was created with.
    return unsafe unsafeDowncast(owner, to: Object.self)
  }
}

extension HandlerBody {
  var isTransformed: Bool {
    switch self {
    case .view, .relay, .sequence, .intercept: true
    default: false
    }
  }
  var isSynchronous: Bool {
    switch self {
    case .direct, .sync, .intercept, .view, .relay, .sequence: true
    case .directAsync, .async, .isolated, .passing, .perRecord: false
    }
  }
}

@usableFromInline struct AnyHandler: Sendable {
  var options = HandlerOptions()
  @usableFromInline var isOnce = false
  @usableFromInline var source = SourceLine.none
  var place: ExecutionPlace
  var body: HandlerBody
  let type: PayloadType

  @usableFromInline var inline: ErasedHandler? {
    if case .inline = place, case .direct(let handling) = body, options.modifierBox == nil { handling } else { nil }
  }

  @usableFromInline var viewTarget: ViewTarget? {
    guard case .inline = place, !isOnce, options.owner == nil, options.modifierBox == nil, options.sharedClaim == nil
    else { return nil }
    switch body {
    case .direct(let handler): return .handler(handler)
    case .view(let view, _): return .view(view)
    default: return nil
    }
  }

  init(_ place: ExecutionPlace, _ body: HandlerBody, _ type: PayloadType) {
    self.place = place
    self.body = body
    self.type = type
  }
}

@usableFromInline struct HandlerArguments: Sendable {
  @usableFromInline let payload: BorrowedPayload
  @usableFromInline let owner: (any AnyObject & Sendable)?

  init(_ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?) {
    self.payload = payload
    self.owner = owner
  }
}
