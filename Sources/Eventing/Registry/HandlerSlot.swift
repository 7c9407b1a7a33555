package import Synchronization

/// Lends the record without retaining it. Takes 32 bytes in a release build.
@safe @usableFromInline package struct HandlerSlot: ~Copyable {
  // Isolation: core.
  @usableFromInline var body: ErasedHandler
  @usableFromInline let held: Unmanaged<HandlerRecord>
  /// Changed only inside the core. Other threads read it under `core.mutex`, which keeps the slot
  /// alive.
  package let skipped = Atomic<Int>(0)

  init(_ body: ErasedHandler, _ record: HandlerRecord) {
    self.body = body
    unsafe held = .passRetained(record)
  }
  @inlinable deinit { unsafe held.release() }

  package var record: HandlerRecord { unsafe held.takeUnretainedValue() }
  @inline(__always) borrowing func flags() -> UInt32 {
    unsafe held._withUnsafeGuaranteedRef { $0.state.load(ordering: .acquiring) }
  }
  // Isolation: core.
  borrowing func countSkipped() {
    skipped.store(skipped.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
  }

  /// Retains nothing, because retaining would write to cache lines that the lane's drain also
  /// writes. The first call sets `body`, so that later posts take the fast path. Isolation: core.
  @inline(__always) mutating func offer(
    _ payload: BorrowedPayload, _ flags: UInt32, _ delivery: inout Delivery
  )
    -> PathNeeded?
  {
    guard flags == HandlerFlags.needsSlowPath | HandlerFlags.detailed else { return nil }
    // Safe: the flag `detailed` says that the record is a `DetailedRecord`, as in
    // `HandlerRecord.details`.
    let record = unsafe Unmanaged<DetailedRecord>.fromOpaque(held.toOpaque())
    if let lane = unsafe record._withUnsafeGuaranteedRef({ unsafe $0.queueWithoutOwner }) {
      unsafe lane._withUnsafeGuaranteedRef { $0.deliver(payload, &delivery) }
      if unsafe !record._withUnsafeGuaranteedRef({ unsafe $0.hasPostBody }) {
        unsafe setPostBody(record, lane.takeUnretainedValue())
      }
      return .slowForSends
    }
    guard let sink = unsafe record._withUnsafeGuaranteedRef({ unsafe $0.plainSequence }) else { return nil }
    unsafe sink._withUnsafeGuaranteedRef { $0.deliver(payload, &delivery) }
    if unsafe sink._withUnsafeGuaranteedRef({ $0.hub.isBounded }) { return .slow }
    if unsafe !record._withUnsafeGuaranteedRef({ unsafe $0.hasPostBody }) {
      unsafe setPostBody(record, sink.takeUnretainedValue())
    }
    return .slowForSends
  }

  @inline(never) private mutating func setPostBody(_ record: Unmanaged<DetailedRecord>, _ lane: LaneQueue) {
    body = .of({ lane.deliverPost($0) }, lane.layout.type)
    unsafe record._withUnsafeGuaranteedRef { unsafe $0.hasPostBody = true }
  }

  @inline(never) private mutating func setPostBody(_ record: Unmanaged<DetailedRecord>, _ sink: SequenceSink) {
    body = .of({ sink.deliverPost($0) }, sink.hub.type)
    unsafe record._withUnsafeGuaranteedRef { unsafe $0.hasPostBody = true }
  }

  @inlinable @inline(__always) borrowing func call(_ payload: BorrowedPayload) throws { try body(payload) }
}

enum SlotSignal: Error {
  case decide
  case intercepted(InterceptorDecision<SharedPayload>)
}
