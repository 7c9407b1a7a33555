import Synchronization

/// A closure of a transport that hears when an event may be ready for occurrences again, and when
/// it is finished.
package final class ReadinessListener: Sendable {
  let announce: @Sendable (_ isFinished: Bool) -> Void

  init(_ announce: @escaping @Sendable (_ isFinished: Bool) -> Void) { self.announce = announce }
}

extension Event {
  /// Returns whether an occurrence could reach a handler now: the event is neither locked nor
  /// finished, and has a handler. Interceptors do not count. The owner of the handler may be gone.
  ///
  /// - Parameter countsLocked: Whether handlers count that are locked, and for which the lock holds
  ///   nothing.
  /// - Complexity: O(1); O(*n*) if the first *n* handlers do not count.
  package nonisolated func mayDeliver(countsLocked: Bool) -> Bool {
    core.mutex.withLock {
      guard unsafe !core.isEventLocked, unsafe !core.isFinished else { return false }
      if unsafe core.table.hasHandler(countsLocked) { return true }
      guard let pendingWork = core.pendingWorkReference.load() else { return false }
      if unsafe !pendingWork.mailbox.newHandlers.isEmpty { return true }
      var next = unsafe pendingWork.keyIndex?.first
      while let keyTable = next {
        if unsafe keyTable.table.hasHandler(countsLocked) { return true }
        next = unsafe keyTable.next
      }
      return false
    }
  }

  /// Sets the closure that hears of each change after which ``mayDeliver(countsLocked:)`` may
  /// return true: a handler was added, or a lock has ended, by whatever call. The closure also
  /// hears of each ``HandlerRegistry/finish()``. Set once, before the event is shared.
  ///
  /// - Parameter announce: It runs on the thread that made the change, also inside the event, under
  ///   no mutex, and must not wait. Its argument is whether the event is finished.
  package nonisolated func onReadiness(_ announce: @escaping @Sendable (_ isFinished: Bool) -> Void) {
    _ = core.pendingWork.readinessReference.set(ReadinessListener(announce))
  }
}

extension KeyedEvent {
  /// Returns whether an occurrence could reach a handler of some key now: see
  /// `Event.mayDeliver(countsLocked:)`.
  package func mayDeliver(countsLocked: Bool) -> Bool { event.mayDeliver(countsLocked: countsLocked) }

  /// Sets the closure that hears when the event may be ready: see `Event.onReadiness(_:)`.
  package func onReadiness(_ announce: @escaping @Sendable (_ isFinished: Bool) -> Void) {
    event.onReadiness(announce)
  }
}

extension EventQuestion {
  /// Sets the closure that hears when the question is finished: see `Event.onReadiness(_:)`.
  package func onReadiness(_ announce: @escaping @Sendable (_ isFinished: Bool) -> Void) {
    event.onReadiness(announce)
  }
}

extension EventCore {
  /// Tells the transport, if there is one, that the event may be ready for occurrences again, or is
  /// finished. Never called under a mutex.
  func announceReadiness(isFinished: Bool = false) {
    // Safe: the core retains it.
    guard let pendingWork = unsafe pendingWorkReference.lend() else { return }
    unsafe pendingWork._withUnsafeGuaranteedRef { $0.readinessReference.load()?.announce(isFinished) }
  }
}

extension PriorityTable {
  /// Returns whether an occurrence could reach a handler of the table now: see
  /// `Event.mayDeliver(countsLocked:)`. The caller holds `core.mutex`.
  fileprivate func hasHandler(_ countsLocked: Bool) -> Bool {
    var next = unsafe first
    while let bucket = unsafe next {
      for i in unsafe 0..<Int(bucket.pointee.count) {
        if unsafe counts((bucket.pointee.slots + i).pointee.record, countsLocked) { return true }
      }
      unsafe next = unsafe bucket.pointee.next
    }
    return false
  }

  private func counts(_ record: HandlerRecord, _ countsLocked: Bool) -> Bool {
    let flags = record.state.load(ordering: .acquiring)
    guard unsafe record.index >= 0, flags & HandlerFlags.ended == 0 else { return false }
    if !countsLocked, flags & HandlerFlags.lockedAtAll != 0, flags & HandlerFlags.isHolding == 0 { return false }
    return record.details?.options.isInterceptor != true
  }
}
