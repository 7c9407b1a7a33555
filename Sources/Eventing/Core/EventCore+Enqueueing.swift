import Synchronization

// Enqueueing work for a busy event. Every path into the mailbox goes through `appendWork(_:)`.
extension EventCore {
  /// Posts to an event that is busy, or that ``mustEnqueue`` keeps from being entered.
  @usableFromInline @inline(never) func postBusy(_ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?) {
    if isTraced { return postTraced(payload, from: sender) }
    let isCarrying = CarriedContext.isCarrying
    if stateWord.load(ordering: .relaxed) == CoreState.mustEnqueue, !isCarrying, sender == nil,
      postWithReplay(payload)
    {
      return
    }
    let completion = sender == nil && !isCarrying ? nil : Completion(.post, from: sender)
    if enqueue(payload, completion) { OverloadControl.slowDown() }
  }

  /// Sends to a busy event.
  @usableFromInline @inline(never) func sendBusy(
    _ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?
  ) -> PendingSend {
    let completion = Completion(.send, from: sender)
    if isTraced { completion.noteOrigin() }
    noteWait(.send, completion)
    enqueue(payload, completion)
    return PendingSend(report: SendReport(), completion: completion)
  }

  /// Enqueues an item.
  ///
  /// - Returns: Whether the caller must slow down; see ``OverloadControl``.
  @inline(never) @discardableResult func enqueue(_ item: WorkItem) -> Bool {
    enqueue { pendingWork in
      unsafe pendingWork.mailbox.items.append(item)
      return unsafe item.isChange && pendingWork.mailbox.isOverloadedByChanges
    }
  }

  /// Enqueues an occurrence.
  ///
  /// - Parameter thread: The thread that posts. If this thread drains the mailbox, it delivers the
  ///   occurrence itself. A drain by another poster hands the occurrence off to the event's own
  ///   queue. Pass ``Drainer/queue`` if only that queue may deliver the occurrence.
  /// - Returns: Whether the caller must slow down; see ``OverloadControl``.
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

  /// Lets a closure enqueue work, and drains the mailbox if the event became idle meanwhile.
  ///
  /// One atomic step sets the flags `busy` and `queued`, and reads the value that the state word
  /// had before. With two steps, the thread inside could leave between them without seeing the
  /// work. Then no thread would drain the mailbox.
  ///
  /// - Parameters:
  ///   - drainer: The argument that this method passes to ``drain(_:)`` if the event became idle:
  ///     the number of the calling thread (`Thread.current`), or ``Drainer/pool``.
  ///   - append: A closure that changes the pending work under `mutex`. It returns whether there is
  ///     an overload.
  /// - Returns: Whether the caller must slow down. False if the caller is a handler of this event:
  ///   its sleep would only delay the drain.
  @inline(__always) func enqueue(
    drainer: UInt = Thread.current, _ append: (PendingWork) -> Bool
  ) -> Bool {
    let (old, isOverloaded) = appendWork(append)
    if old & ~CoreState.mustEnqueue == 0 {
      drain(drainer)
      return false
    }
    return isOverloaded && old & ~CoreState.flags != Thread.current
  }

  /// Lets a closure enqueue work. If the event became idle meanwhile, the event's own queue drains
  /// the mailbox. So the calling thread runs no code of the user, and releases nothing.
  func enqueueForQueue(_ append: (PendingWork) -> Void) {
    let (old, _) = appendWork {
      append($0)
      return false
    }
    if old & ~CoreState.mustEnqueue == 0 { handOff(pendingWork) }
  }

  /// Lets a closure enqueue work, and sets the flags `busy` and `queued`. Returns the value that
  /// the state word had before, and the result of the closure.
  @inline(__always) private func appendWork(_ append: (PendingWork) -> Bool) -> (old: UInt, isOverloaded: Bool) {
    syncPoint(.foundBusy)
    // Safe: the core retains it.
    let pendingWork = unsafe pendingWorkReference.lend() ?? .passUnretained(pendingWork)
    mutex.lock()
    let isOverloaded = unsafe pendingWork._withUnsafeGuaranteedRef(append)
    syncPoint(.queued)
    let old = stateWord.bitwiseOr(CoreState.busy | CoreState.queued, ordering: .acquiringAndReleasing).oldValue
    mutex.unlock()
    return (old, isOverloaded)
  }

  /// Whether the calling thread is inside the core.
  private var isInside: Bool { stateWord.load(ordering: .relaxed) & ~CoreState.flags == Thread.current }
}
