import Synchronization

// The closures of handlers, called by code that does not know the type of their payload.
//
// Why this works. A closure that is stored in a generic type, in a property whose type names the
// type parameter, is kept at its most general abstraction. Its parameter is passed by address
// (SIL: @in_guaranteed), whatever the parameter's size, because unspecialised code must be able to
// call it. So `HandlerClosure<Int>` and `HandlerClosure<Opaque>` hold functions of one calling
// convention: the context and the error in registers of their own, the payload's address as the
// first argument. `erased` reinterprets one as the other, and the caller passes the address of a
// payload of the original type. The struct is reinterpreted, never the closure: a cast of the
// closure would wrap it in a thunk that reads an address where there is a value.
//
// `Opaque` must itself be passed by address and never be copied. Then borrowing one means having
// its address, and nothing else. The `Atomic` inside makes it such a type.
//
// What would break it: a compiler that passes such parameters otherwise, and pointer authentication
// that signs functions with their types (arm64e). `-Xswiftc -DEVENTING_DOCUMENTED_ONLY` builds a
// closure around each closure instead, which relies on nothing. A build for arm64e always does.
// `Tests/ErasedClosures/check` runs both at -Onone, -O and -Osize.

@usableFromInline struct Opaque: ~Copyable, Sendable {
  let byte: Atomic<UInt8>
}

@safe @usableFromInline struct HandlerClosure<Payload: ~Copyable>: Sendable {
  @usableFromInline var call: @Sendable (borrowing Payload) throws -> Void
  #if DEBUG
    @usableFromInline let type: Any.Type?
  #endif

  @inlinable @inline(__always) init(_ call: @escaping @Sendable (borrowing Payload) throws -> Void, of type: Any.Type?)
  {
    self.call = call
    #if DEBUG
      self.type = type
    #endif
  }
}

@usableFromInline typealias ErasedHandler = HandlerClosure<Opaque>

extension HandlerClosure where Payload: Sendable {
  @inlinable @inline(__always) init(_ call: @escaping @Sendable (borrowing Payload) throws -> Void) {
    self.init(call, of: Payload.self)
  }

  // Safe: see the argument above.
  @inlinable @inline(__always) var erased: ErasedHandler {
    #if EVENTING_DOCUMENTED_ONLY || _ptrauth(_arm64e)
      let call = call
      return ErasedHandler(
        { payload in
          try unsafe withUnsafePointer(to: payload) {
            unsafe try call(UnsafeRawPointer($0).assumingMemoryBound(to: Payload.self).pointee)
          }
        },
        of: Payload.self)
    #else
      return unsafe unsafeBitCast(self, to: ErasedHandler.self)
    #endif
  }
}

extension HandlerClosure where Payload == Opaque {
  @inlinable @inline(__always) func callAsFunction(_ payload: BorrowedPayload) throws {
    #if DEBUG
      if let type { payload.check(type) }
    #endif
    try unsafe call(payload.address.assumingMemoryBound(to: Opaque.self).pointee)
  }

  func retaining(_ object: (any AnyObject & Sendable)?) -> ErasedHandler {
    var copy = self
    copy.call = { [call] payload in try withExtendedLifetime(object) { try call(payload) } }
    return copy
  }

  static let none = ErasedHandler({ _ in }, of: nil)

  static func of(_ body: @escaping @Sendable (BorrowedPayload) throws -> Void, _ type: PayloadType) -> ErasedHandler {
    ErasedHandler(
      { payload in
        try unsafe withUnsafePointer(to: payload) {
          unsafe try body(BorrowedPayload(UnsafeMutableRawPointer(mutating: $0), type))
        }
      },
      of: type)
  }
}

/// Returns `false` if there is no result, so that no handler is called.
@safe @usableFromInline struct ViewClosure<Payload: ~Copyable>: Sendable {
  @usableFromInline let call: @Sendable (borrowing Payload) throws -> Bool
  #if DEBUG
    @usableFromInline let type: Any.Type?
  #endif

  @inlinable @inline(__always) init(_ call: @escaping @Sendable (borrowing Payload) throws -> Bool, of type: Any.Type?)
  {
    self.call = call
    #if DEBUG
      self.type = type
    #endif
  }
}

@usableFromInline typealias ErasedView = ViewClosure<Opaque>

extension ViewClosure where Payload: Sendable {
  @inlinable @inline(__always) init(_ call: @escaping @Sendable (borrowing Payload) throws -> Bool) {
    self.init(call, of: Payload.self)
  }

  // Safe: see the argument above.
  @inlinable @inline(__always) var erased: ErasedView {
    #if EVENTING_DOCUMENTED_ONLY || _ptrauth(_arm64e)
      let call = call
      return ErasedView(
        { payload in
          try unsafe withUnsafePointer(to: payload) {
            unsafe try call(UnsafeRawPointer($0).assumingMemoryBound(to: Payload.self).pointee)
          }
        }, of: Payload.self)
    #else
      return unsafe unsafeBitCast(self, to: ErasedView.self)
    #endif
  }
}

extension ViewClosure where Payload == Opaque {
  @inlinable @inline(__always) func callAsFunction(_ payload: BorrowedPayload) throws -> Bool {
    #if DEBUG
      if let type { payload.check(type) }
    #endif
    return try unsafe call(payload.address.assumingMemoryBound(to: Opaque.self).pointee)
  }

  func counting(_ type: PayloadType, _ countOtherSkips: @escaping @Sendable () -> Void) -> ErasedHandler {
    let call = call
    return ErasedHandler({ payload in if try !call(payload) { countOtherSkips() } }, of: type)
  }
}

@usableFromInline enum ViewTarget: Sendable {
  case handler(ErasedHandler)
  case view(ErasedView)

  @inlinable @inline(__always) func callAsFunction(_ payload: BorrowedPayload) throws -> Bool {
    switch self {
    case .handler(let handler):
      try handler(payload)
      return true
    case .view(let view): return try view(payload)
    }
  }
}

@safe @usableFromInline struct AsyncHandlerClosure<Payload: ~Copyable>: Sendable {
  @usableFromInline var call: @Sendable (borrowing Payload) async throws -> Void
  #if DEBUG
    @usableFromInline let type: Any.Type?
  #endif

  @inlinable @inline(__always) init(
    _ call: @escaping @Sendable (borrowing Payload) async throws -> Void, of type: Any.Type?
  ) {
    self.call = call
    #if DEBUG
      self.type = type
    #endif
  }
}

@usableFromInline typealias ErasedAsyncHandler = AsyncHandlerClosure<Opaque>

extension AsyncHandlerClosure where Payload: Sendable {
  @inlinable @inline(__always) init(_ call: @escaping @Sendable (borrowing Payload) async throws -> Void) {
    self.init(call, of: Payload.self)
  }

  // Safe: see the argument above.
  @inlinable @inline(__always) var erased: ErasedAsyncHandler {
    #if EVENTING_DOCUMENTED_ONLY || _ptrauth(_arm64e)
      let call = call
      return ErasedAsyncHandler(
        { payload in
          let payload = unsafe withUnsafePointer(to: payload) {
            unsafe UnsafeRawPointer($0).assumingMemoryBound(to: Payload.self).pointee
          }
          try await call(payload)
        }, of: Payload.self)
    #else
      return unsafe unsafeBitCast(self, to: ErasedAsyncHandler.self)
    #endif
  }
}

extension AsyncHandlerClosure where Payload == Opaque {
  func retaining(_ object: (any AnyObject & Sendable)?) -> ErasedAsyncHandler {
    var copy = self
    copy.call = { [call] payload in
      defer { withExtendedLifetime(object) {} }
      try await call(payload)
    }
    return copy
  }

  @inline(__always) func callAsFunction(_ payload: BorrowedPayload, on place: isolated (any Actor)?) async throws {
    #if DEBUG
      if let type { payload.check(type) }
    #endif
    try await unsafe call(payload.address.assumingMemoryBound(to: Opaque.self).pointee)
  }
}
