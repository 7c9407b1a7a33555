import Synchronization

// Work for a busy event. Every path into the queue goes through `enqueue(drainer:_:)`.
extension EventCore {
  /// Enqueues an item.
  ///
  /// - Returns: Whether the caller must slow down: see ``OverloadControl``.
  @inline(never) @discardableResult func enqueue(_ item: WorkItem) -> Bool {
    enqueue { pendingWork in
      unsafe pendingWork.mailbox.items.append(item)
      return unsafe item.isChange && pendingWork.mailbox.isOverloadedByChanges
    }
  }

  /// Enqueues an occurrence.
  ///
  /// - Parameter thread: The thread that may deliver it at once: the poster, or ``Drainer/queue``.
  /// - Returns: Whether the caller must slow down: see ``OverloadControl``.
  @inline(never) @discardableResult func enqueue(
    _ payload: BorrowedPayload, _ completion: Completion?, by thread: UInt = Thread.current
  ) -> Bool {
    if mutant(.nestedPostIsLost), completion?.isAwaited != true, isInside { return false }
    var replaced: OwnedPayload?
    let mustSlowDown = enqueue { pendingWork in
      unsafe pendingWork.mailbox.append(payload, completion, by: thread)
      if let history = pendingWork.history { replaced = history.replaceLatest(payload) }
      return pendingWork.isOverloaded
    }
    _ = consume replaced  // destroyed after the mutex is released
    return mustSlowDown
  }

  /// Enqueues what `append` appends, and drains if the event fell idle meanwhile.
  ///
  /// One atomic step sets both flags. With a test and a separate store, a thread that leaves in
  /// between would be missed, and the event would be dead for ever.
  ///
  /// - Parameters:
  ///   - drainer: What drains if the event fell idle: the calling thread, or ``Drainer/pool``.
  ///   - append: Changes the pending work under `mutex`. Returns whether there is an overload.
  /// - Returns: Whether the caller must slow down. False for a handler of this event, which would wait
  ///   for itself.
  @usableFromInline @inline(__always) func enqueue(
    drainer: UInt = Thread.current, _ append: (PendingWork) -> Bool
  ) -> Bool {
    syncPoint(.foundBusy)
    // Safe: the core holds it.
    let pendingWork = unsafe pendingWorkReference.lend() ?? .passUnretained(pendingWork)
    mutex.lock()
    let isOverloaded = unsafe pendingWork._withUnsafeGuaranteedRef(append)
    syncPoint(.queued)
    let old = stateWord.bitwiseOr(CoreState.busy | CoreState.queued, ordering: .acquiringAndReleasing).oldValue
    mutex.unlock()
    if old & ~CoreState.mustEnqueue == 0 {
      drain(drainer)
      return false
    }
    return isOverloaded && old & ~CoreState.flags != Thread.current
  }

  /// Whether the calling thread is inside.
  private var isInside: Bool { stateWord.load(ordering: .relaxed) & ~CoreState.flags == Thread.current }
}
