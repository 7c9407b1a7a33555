public import Synchronization

/// One handler in the table, 32 bytes: it owns its references, and lends them without a retain.
@safe @usableFromInline struct HandlerSlot: ~Copyable {
  /// What an inline handler is called with directly; for one that runs elsewhere, what takes a post there if there is nothing to decide; for any other it does nothing.
  /// Only from inside.
  @usableFromInline var body: ErasedHandler
  @usableFromInline let held: Unmanaged<HandlerRecord>
  /// How many occurrences the event has skipped for this handler.
  ///
  /// Atomic so that those who read slots under the lock are in nobody's way; changed only from inside.
  @usableFromInline let skipped = Atomic<Int>(0)

  @usableFromInline init(_ body: ErasedHandler, _ record: HandlerRecord) {
    self.body = body
    unsafe held = .passRetained(record)
  }
  @inlinable deinit { unsafe held.release() }

  @usableFromInline var record: HandlerRecord { unsafe held.takeUnretainedValue() }
  @usableFromInline @inline(__always) borrowing func flags() -> UInt32 {
    unsafe held._withUnsafeGuaranteedRef { $0.state.load(ordering: .acquiring) }
  }
  @usableFromInline borrowing func countSkipped() {
    skipped.store(skipped.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
  }

  /// Gives an occurrence to the lane of a handler that has one and nothing to decide; nil for any other. Counts no references: the lane's own
  /// thread does, on the same cache line. From now on the slot's body takes posts: made here, where the client's compiler knows the payload.
  @usableFromInline @inline(__always) mutating func offer(
    _ payload: BorrowedPayload, _ flags: UInt32, _ tally: inout DeliveryTally
  )
    -> PathNeeded?
  {
    guard flags == HandlerFlags.needsSlowPath | HandlerFlags.detailed else { return nil }
    // Safe: the bit says so, as in `HandlerRecord.details`.
    let record = unsafe Unmanaged<DetailedRecord>.fromOpaque(held.toOpaque())
    if let lane = unsafe record._withUnsafeGuaranteedRef({ unsafe $0.plainLane }) {
      unsafe lane._withUnsafeGuaranteedRef { $0.take(payload, &tally) }
      if unsafe !record._withUnsafeGuaranteedRef({ unsafe $0.takesPosts }) {
        unsafe takePosts(record, lane.takeUnretainedValue())
      }
      return .slowForSends
    }
    guard let lane = unsafe record._withUnsafeGuaranteedRef({ unsafe $0.plainSequence }) else { return nil }
    unsafe lane._withUnsafeGuaranteedRef { $0.take(payload, &tally) }
    if unsafe lane._withUnsafeGuaranteedRef({ $0.hub.isBounded }) { return .slow }
    if unsafe !record._withUnsafeGuaranteedRef({ unsafe $0.takesPosts }) {
      unsafe takePosts(record, lane.takeUnretainedValue())
    }
    return .slowForSends
  }

  @inline(never) private mutating func takePosts(_ record: Unmanaged<DetailedRecord>, _ lane: SerialLane) {
    body = .of({ lane.takePost($0) }, lane.type)
    unsafe record._withUnsafeGuaranteedRef { unsafe $0.takesPosts = true }
  }

  @inline(never) private mutating func takePosts(_ record: Unmanaged<DetailedRecord>, _ lane: SequenceSink) {
    body = .of({ lane.takePost($0) }, lane.hub.type)
    unsafe record._withUnsafeGuaranteedRef { unsafe $0.takesPosts = true }
  }

  @inlinable @inline(__always) borrowing func call(_ payload: BorrowedPayload) throws { try body(payload) }
}

/// What a slot's body throws that could not do all there is to do.
enum SlotSignal: Error {
  /// There is something to decide: the handler has not been called.
  case decide
  /// The handlers that follow are not to be called.
  case stop
}
