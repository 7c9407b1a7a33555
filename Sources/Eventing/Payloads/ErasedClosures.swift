import Synchronization

// Handlers' closures, callable by code that doesn't know the type of their payload.
//
// Why this works: a closure stored in a property of a generic type, if the property's type mentions
// the type parameter, is kept at its most general abstraction. Its parameter is passed by address
// (SIL: @in_guaranteed), whatever the parameter's size, because unspecialized code must be able to
// call it. `HandlerClosure<Int>` and `HandlerClosure<Opaque>` therefore hold functions with the
// same calling convention: the context and the error have registers of their own, and the payload's
// address is the first argument. `erased` reinterprets one as the other, and the caller passes the
// address of a payload of the original type. Only the struct is reinterpreted, never the closure,
// because casting the closure would wrap it in a thunk that reads an address where there is a
// value.
//
// `Opaque` must itself be passed by address and never copied, so that borrowing one means having
// its address and nothing else. The `Atomic` inside makes it such a type.
//
// Two things would break this: a compiler that passes such parameters differently, and pointer
// authentication that signs functions with their types (arm64e). With
// `-Xswiftc -DEVENTING_DOCUMENTED_ONLY`, and always on arm64e, each closure is instead wrapped in
// another one, which relies on no such assumption. `Tests/ErasedClosures/check` runs both variants
// at -Onone, -O and -Osize.

@usableFromInline struct Opaque: ~Copyable, Sendable {
  let byte: Atomic<UInt8>
}

@safe @usableFromInline struct HandlerClosure<Payload: ~Copyable>: Sendable {
  @usableFromInline let call: @Sendable (borrowing Payload) throws -> Void
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

/// The closure returns whether the view had a result. If not, no handler is called.
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
  @usableFromInline let call: @Sendable (borrowing Payload) async throws -> Void
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
  @inline(__always) func callAsFunction(_ payload: BorrowedPayload, on place: isolated (any Actor)?) async throws {
    #if DEBUG
      if let type { payload.check(type) }
    #endif
    try await unsafe call(payload.address.assumingMemoryBound(to: Opaque.self).pointee)
  }
}
