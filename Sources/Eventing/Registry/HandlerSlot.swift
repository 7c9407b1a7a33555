package import Synchronization

/// The place of one handler in the table. A slot retains the record, and lends it without a retain.
/// In a release build a slot takes 32 bytes.
@safe @usableFromInline package struct HandlerSlot: ~Copyable {
  /// The closure that the fast path calls with the payload. It is the handler's own, or one that
  /// does all that a post needs for the handler, such as putting the payload onto its lane. Does
  /// nothing if the handler always needs the slow path. Isolation: core.
  @usableFromInline var body: ErasedHandler
  /// The record, which the slot retains.
  @usableFromInline let held: Unmanaged<HandlerRecord>
  /// The number of occurrences that the event has skipped for this handler.
  ///
  /// Changed only inside the core. Atomic, so that another thread may read it without delaying the
  /// thread inside. That reader holds `core.mutex`, which keeps the slot in the table.
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
  /// Counts a skipped occurrence. Isolation: core.
  borrowing func countSkipped() {
    skipped.store(skipped.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
  }

  /// Gives an occurrence to the lane or sequence of a handler that does not need
  /// `EventCore.decide`. Isolation: core.
  ///
  /// Retains nothing, because a retain would write cache lines that the drain of the lane writes,
  /// too. The first call sets `body` to a closure that enqueues the payload, so that later posts
  /// reach the lane or sequence on the fast path.
  ///
  /// - Returns: The path that the handler needs next time; `nil` if the occurrence was not given,
  ///   because the handler needs `EventCore.decide`, or runs inline.
  @inline(__always) mutating func offer(
    _ payload: BorrowedPayload, _ flags: UInt32, _ tally: inout Delivery
  )
    -> PathNeeded?
  {
    guard flags == HandlerFlags.needsSlowPath | HandlerFlags.detailed else { return nil }
    // Safe: the flag `detailed` says that the record is a `DetailedRecord`, as in
    // `HandlerRecord.details`.
    let record = unsafe Unmanaged<DetailedRecord>.fromOpaque(held.toOpaque())
    if let lane = unsafe record._withUnsafeGuaranteedRef({ unsafe $0.plainMember }) {
      unsafe lane._withUnsafeGuaranteedRef { $0.deliver(payload, &tally) }
      if unsafe !record._withUnsafeGuaranteedRef({ unsafe $0.hasPostBody }) {
        unsafe setPostBody(record, lane.takeUnretainedValue())
      }
      return .slowForSends
    }
    guard let sink = unsafe record._withUnsafeGuaranteedRef({ unsafe $0.plainSequence }) else { return nil }
    unsafe sink._withUnsafeGuaranteedRef { $0.deliver(payload, &tally) }
    if unsafe sink._withUnsafeGuaranteedRef({ $0.hub.isBounded }) { return .slow }
    if unsafe !record._withUnsafeGuaranteedRef({ unsafe $0.hasPostBody }) {
      unsafe setPostBody(record, sink.takeUnretainedValue())
    }
    return .slowForSends
  }

  /// Gives the slot a closure that puts posts onto a lane.
  @inline(never) private mutating func setPostBody(_ record: Unmanaged<DetailedRecord>, _ lane: HandlerQueue) {
    body = .of({ lane.deliverPost($0) }, lane.type)
    unsafe record._withUnsafeGuaranteedRef { unsafe $0.hasPostBody = true }
  }

  /// Gives the slot a closure that gives posts to a sequence.
  @inline(never) private mutating func setPostBody(_ record: Unmanaged<DetailedRecord>, _ sink: SequenceSink) {
    body = .of({ sink.deliverPost($0) }, sink.hub.type)
    unsafe record._withUnsafeGuaranteedRef { unsafe $0.hasPostBody = true }
  }

  @inlinable @inline(__always) borrowing func call(_ payload: BorrowedPayload) throws { try body(payload) }
}

/// The errors by which a slot's closure ends the fast path.
enum SlotSignal: Error {
  /// The handler has not been called. `EventCore.decide` calls it, holds the occurrence for it, or
  /// skips it.
  case decide
  /// An interceptor keeps the occurrence from the handlers that follow, or gives them another
  /// payload.
  case intercepted(InterceptorDecision)
}
