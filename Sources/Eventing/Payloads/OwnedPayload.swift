// Safe: the memory has one owner, and payloads are Sendable.
@safe @usableFromInline struct OwnedPayload: ~Copyable, @unchecked Sendable {
  private let address: UnsafeMutableRawPointer
  private let layout: PayloadLayout

  init(copying payload: BorrowedPayload, _ type: PayloadType) { self.init(copying: payload, PayloadLayout(type)) }

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

  func copy() -> OwnedPayload { OwnedPayload(copying: borrowed, layout.type) }
}
