/// The address of a payload that its owner keeps alive for the length of a call. Both sides know
/// the type; debug builds check that they agree.
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

  @inline(__always) init(_ address: UnsafeMutableRawPointer, _ type: PayloadType) {
    unsafe self.address = UnsafeRawPointer(address)
    #if DEBUG
      self.type = type
    #endif
  }

  #if DEBUG
    init(_ address: UnsafeRawPointer, of type: Any.Type) {
      unsafe self.address = unsafe address
      self.type = type
    }
  #endif

  @inlinable @inline(__always) func check(_ expected: Any.Type) {
    #if DEBUG
      precondition(type == expected, "expected a payload of \(expected), got one of \(type)")
    #endif
  }

  @inlinable @inline(__always) func pointer<Payload>(to _: Payload.Type) -> UnsafePointer<Payload> {
    check(Payload.self)
    return unsafe address.assumingMemoryBound(to: Payload.self)
  }

  @inlinable @inline(__always) package func payload<Payload>(_: Payload.Type = Payload.self) -> Payload {
    unsafe pointer(to: Payload.self).pointee
  }

  /// Leaves the memory uninitialized. Only the owner of the memory calls this.
  @inlinable @inline(__always) func moved<Payload>(to _: Payload.Type) -> Payload {
    unsafe UnsafeMutablePointer(mutating: pointer(to: Payload.self)).move()
  }
}

@inlinable @inline(__always) func lend<Payload: Sendable, Result: ~Copyable>(
  _ payload: Payload, _ body: (BorrowedPayload) throws -> Result
) rethrows -> Result {
  try unsafe withUnsafePointer(to: payload) { try unsafe body(BorrowedPayload($0)) }
}
