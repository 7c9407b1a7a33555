/// The address of a payload that its owner keeps alive for the length of a call.
///
/// A loan does not carry the type of its payload. The event knows it, and so does the code that
/// takes the payload out. Debug builds check that both agree.
// Safe: a loan is only read, and it never outlives the call that it was made for.
@safe @usableFromInline struct BorrowedPayload: @unchecked Sendable {
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

  /// The loan of a payload that lies in memory without a type.
  @usableFromInline @inline(__always) init(_ address: UnsafeMutableRawPointer, _ type: PayloadType) {
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

  /// In debug builds: stops if the payload is of another type.
  @inlinable @inline(__always) func check(_ expected: Any.Type) {
    #if DEBUG
      precondition(type == expected, "expected a payload of \(expected), got one of \(type)")
    #endif
  }

  /// The typed address of the payload.
  @inlinable @inline(__always) func pointer<Payload>(to _: Payload.Type) -> UnsafePointer<Payload> {
    check(Payload.self)
    return unsafe address.assumingMemoryBound(to: Payload.self)
  }

  /// A copy of the payload.
  @inlinable @inline(__always) func payload<Payload>(_: Payload.Type = Payload.self) -> Payload {
    unsafe pointer(to: Payload.self).pointee
  }
}

/// Lends a payload for the length of a call.
@inlinable @inline(__always) func lend<Payload: Sendable, Result: ~Copyable>(
  _ payload: Payload, _ body: (BorrowedPayload) throws -> Result
) rethrows -> Result {
  try unsafe withUnsafePointer(to: payload) { try unsafe body(BorrowedPayload($0)) }
}
