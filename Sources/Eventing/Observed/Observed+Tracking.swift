// Values in Swift's Observation: which reads are tracked, and which closures are told of a change.

extension Observed.Storage {
  /// Reports a read to Observation.
  ///
  /// No type here depends on `Value`: the library is compiled once for all values, and looking up
  /// the metadata of such a type would take most of the time of a read.
  ///
  /// - Returns: The reads that this one belongs to, if Observation tracks it; otherwise `nil`.
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

  /// Tells Observation of a change that this thread has made. The caller holds no mutex.
  ///
  /// If this thread made all tracked reads, a reading closure that has not returned runs on this
  /// thread, too. So the closure has made the change itself, and is not told of it. The reads of
  /// these closures are stored in `trackedReads` again, so that the next change tells the closures.
  /// If newer reads are stored there already, a task tells the closures of the present change
  /// instead, after they have returned.
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
