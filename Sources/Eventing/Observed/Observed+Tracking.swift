// Values in Swift's Observation: which reads are tracked, and which closures are told of a change.

extension Observed.Storage {
  /// Uses no type that depends on `Value`: looking up its metadata would take most of the time of a
  /// read.
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

  /// The caller holds `core.mutex`, and tells the closures after the unlock.
  func takeTrackedReads() -> TrackedReads? {
    guard let reads = unsafe trackedReads, reads.isTracked else { return nil }
    unsafe trackedReads = nil
    choosePath()
    return reads
  }

  /// The caller holds no mutex. If this thread made all tracked reads, a closure that still runs is
  /// on its call stack, and made the change itself. So it's told of the next one: its reads are
  /// stored again.
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
