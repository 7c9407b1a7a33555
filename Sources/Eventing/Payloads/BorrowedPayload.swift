/// The address of a payload that its owner keeps alive for the duration of a call. Both sides know
/// the type; debug builds check that they agree.
// Safe: the payload is only read, and the address is never used after the call that it was created
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

  /// Leaves the memory uninitialized. Only the owner of the memory may call this.
  @inlinable @inline(__always) func moved<Payload>(to _: Payload.Type) -> Payload {
    unsafe UnsafeMutablePointer(mutating: pointer(to: Payload.self)).move()
  }
}

@inlinable @inline(__always) func lend<Payload: Sendable, Result: ~Copyable>(
  _ payload: Payload, _ body: (BorrowedPayload) throws -> Result
) rethrows -> Result {
  try unsafe withUnsafePointer(to: payload) { try unsafe body(BorrowedPayload($0)) }
}

// Safe: the memory has one owner, and payloads are Sendable.
@safe @usableFromInline struct OwnedPayload: ~Copyable, @unchecked Sendable {
  private let address: UnsafeMutableRawPointer
  private let layout: PayloadLayout

  init(copying payload: BorrowedPayload, _ layout: PayloadLayout) {
    self.layout = layout
    unsafe address = layout.allocate(1)
    unsafe layout.copy(payload, to: address)
  }

  init<Payload: Sendable>(_ payload: Payload) {
    layout = PayloadLayout(Payload.self)
    unsafe address = layout.allocate(1)
    unsafe address.initializeMemory(as: Payload.self, to: payload)
  }

  /// Leaves the memory at `address` uninitialized.
  init(moving address: UnsafeMutableRawPointer, _ layout: PayloadLayout) {
    self.layout = layout
    unsafe self.address = layout.allocate(1)
    unsafe layout.move(from: address, to: self.address)
  }

  init(adopting address: UnsafeMutableRawPointer, _ layout: PayloadLayout) {
    self.layout = layout
    unsafe self.address = address
  }

  deinit {
    unsafe layout.destroy(address)
    unsafe PayloadLayout.deallocate(address)
  }

  var borrowed: BorrowedPayload { unsafe BorrowedPayload(address, layout.type) }

  func copy() -> OwnedPayload { OwnedPayload(copying: borrowed, layout) }
}
