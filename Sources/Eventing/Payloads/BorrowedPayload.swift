/// The address of a payload that its owner keeps alive for the length of a call.
///
/// It does not carry the type of the payload. The event knows that type, and so does the code that
/// reads the payload. Debug builds check that both agree.
// Safe: the payload is only read, and the address is never used after the call that it was made
// for.
@safe @usableFromInline package struct BorrowedPayload: @unchecked Sendable {
  @usableFromInline let address: UnsafeRawPointer
  #if DEBUG
    @usableFromInline let type: Any.Type
  #endif

  @inlinable @inline(__always) init<Payload>(_ payload: UnsafePointer<Payload>) {
    unsafe address = UnsafeRawPointer(payload)
    #if DEBUG
      type = Payload.self
    #endif
  }

  /// Borrows a payload whose type is known only at run time.
  @inline(__always) init(_ address: UnsafeMutableRawPointer, _ type: PayloadType) {
    unsafe self.address = UnsafeRawPointer(address)
    #if DEBUG
      self.type = type
    #endif
  }

  #if DEBUG
    /// Borrows a payload of a type that need not be Sendable.
    init(_ address: UnsafeRawPointer, of type: Any.Type) {
      unsafe self.address = unsafe address
      self.type = type
    }
  #endif

  /// Stops a debug build if the payload is of another type.
  @inlinable @inline(__always) func check(_ expected: Any.Type) {
    #if DEBUG
      precondition(type == expected, "expected a payload of \(expected), got one of \(type)")
    #endif
  }

  /// Returns the typed address of the payload.
  @inlinable @inline(__always) func pointer<Payload>(to _: Payload.Type) -> UnsafePointer<Payload> {
    check(Payload.self)
    return unsafe address.assumingMemoryBound(to: Payload.self)
  }

  /// Returns a copy of the payload.
  @inlinable @inline(__always) package func payload<Payload>(_: Payload.Type = Payload.self) -> Payload {
    unsafe pointer(to: Payload.self).pointee
  }

  /// Moves the payload out, which leaves its memory uninitialized. Only the owner of that memory
  /// calls this.
  @inlinable @inline(__always) func moved<Payload>(to _: Payload.Type) -> Payload {
    unsafe UnsafeMutablePointer(mutating: pointer(to: Payload.self)).move()
  }
}

/// Lends a payload to a closure for the length of the closure's call.
@inlinable @inline(__always) func lend<Payload: Sendable, Result: ~Copyable>(
  _ payload: Payload, _ body: (BorrowedPayload) throws -> Result
) rethrows -> Result {
  try unsafe withUnsafePointer(to: payload) { try unsafe body(BorrowedPayload($0)) }
}
