public import Synchronization

/// One handler in the table, 32 bytes: it owns its references, and lends them without a retain.
@safe @usableFromInline struct Row<Payload: Sendable>: ~Copyable {
  /// What an inline handler is called with directly; for a special one it does nothing.
  @usableFromInline let body: @Sendable (Payload) throws -> Void
  @usableFromInline let held: Unmanaged<Record>
  /// How many occurrences the event has skipped for this handler.
  ///
  /// Atomic so that those who read rows under the lock are in nobody's way; changed only from inside.
  @usableFromInline let skipped = Atomic<Int>(0)

  @inlinable init(_ body: @escaping @Sendable (Payload) throws -> Void, _ record: Record) {
    self.body = body
    unsafe held = .passRetained(record)
  }
  @inlinable deinit { unsafe held.release() }

  @inlinable var record: Record { unsafe held.takeUnretainedValue() }
  @inlinable @inline(__always) borrowing func bits() -> UInt32 {
    unsafe held._withUnsafeGuaranteedRef { $0.state.load(ordering: .acquiring) }
  }
  @inlinable borrowing func countSkipped() { skipped.store(skipped.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  /// Gives an occurrence to the lane of a handler that has one and nothing to decide; false for any other. Counts no references: the lane's own
  /// thread does, on the same cache line.
  @inlinable @inline(__always) borrowing func offer(_ payload: Payload, _ bits: UInt32, _ tally: inout Tally) -> Bool {
    guard bits == Bit.special | Bit.detailed else { return false }
    return unsafe held._withUnsafeGuaranteedRef { record in
      // Safe: the bit says so, as in `Record.working`.
      let record = unsafe unsafeDowncast(record, to: WorkingRecord<Payload>.self)
      if let lane = unsafe record.plainLane {
        unsafe lane._withUnsafeGuaranteedRef { $0.take(payload, &tally) }
      } else if let lane = unsafe record.plainSequence {
        unsafe lane._withUnsafeGuaranteedRef { $0.take(payload, &tally) }
      } else {
        return false
      }
      return true
    }
  }

  @inlinable @inline(__always) borrowing func call(_ payload: Payload) throws { try body(payload) }
}
