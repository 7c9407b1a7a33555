// Values in Swift's Observation: which reads are tracked, and which closures are told of a change.

extension Observed.Storage {
  /// Reports a read to Observation.
  ///
  /// This function uses no type that depends on `Value`. The library is compiled once for all
  /// values, so it would look up the metadata of such a type at each read. That would take most of
  /// the time of a read.
  ///
  /// - Returns: The ``TrackedReads`` to which this read belongs, if Observation tracks the read;
  ///   otherwise `nil`.
  @usableFromInline @inline(never) func reportRead() -> TrackedReads? {
    let reads = core.mutex.withLock { unsafe trackedReads } ?? makeTrackedReads()
    return reads.add() ? reads : nil
  }

  private func makeTrackedReads() -> TrackedReads {
    let made = TrackedReads()
    return core.mutex.withLock {
      if let other = unsafe trackedReads { return other }
      unsafe trackedReads = made
      return made
    }
  }

  /// The value, for a read that Observation tracks.
  ///
  /// One critical section reads the value and calls `choosePath()`. From then on, `set(_:)` leaves
  /// the next change to `setInside(_:_:)`, which tells Observation. If a change has come since the
  /// read was reported to Observation, the read is reported again.
  @usableFromInline @inline(never) func trackedValue(of reported: TrackedReads) -> Value {
    var reads = reported
    while true {
      let current: Value? = core.mutex.withLock {
        guard unsafe trackedReads === reads else { return nil }
        choosePath()
        return unsafe box.current
      }
      if let current { return current }
      guard let next = reportRead() else { return value }
      reads = next
    }
  }

  /// Removes and returns the reads whose closures must be told of a change; `nil` if no read was
  /// tracked. The caller holds `core.mutex`, and tells the closures after the unlock.
  func takeTrackedReads() -> TrackedReads? {
    guard let reads = unsafe trackedReads, reads.isTracked else { return nil }
    unsafe trackedReads = nil
    choosePath()
    return reads
  }

  /// Tells Observation of a change that this thread has made: Observation calls the `onChange` of
  /// each closure that has made a tracked read and has returned. The caller holds no mutex.
  ///
  /// Observation cannot call the `onChange` of a closure that still runs. If this thread made all
  /// tracked reads, that closure is on this thread's call stack, and has made this change itself.
  /// Then the closure is to be told of the next change instead, so its reads are stored in
  /// `trackedReads` again. If `trackedReads` has newer reads by then, a task tells the closure of
  /// this change after the closure has returned.
  func tell(_ reads: inout TrackedReads?) {
    guard let left = TrackedReads.tell(&reads) else { return }
    let isKept = core.mutex.withLock {
      guard unsafe trackedReads == nil else { return false }
      unsafe trackedReads = left
      choosePath()
      return true
    }
    if !isKept { left.tellLater() }
  }
}
