import Synchronization

// Enqueueing work for a busy event. Every path into the mailbox goes through `appendWork(_:)`.
extension EventCore {
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

  @usableFromInline @inline(never) func sendBusy(
    _ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?
  ) -> PendingSend {
    let completion = Completion(.send, from: sender)
    if isTraced { completion.noteOrigin() }
    noteWait(.send, completion)
    enqueue(payload, completion)
    return PendingSend(report: SendReport(), completion: completion)
  }

  @inline(never) @discardableResult func enqueue(_ item: WorkItem) -> Bool {
    enqueue { rareState in
      unsafe rareState.mailbox.items.append(item)
      return unsafe item.isChange && rareState.mailbox.isOverloadedByChanges
    }
  }

  /// - Parameter thread: The poster, whose drain may deliver the occurrence, or ``Drainer/queue``
  ///   if only the event's own queue may deliver it.
  @inline(never) @discardableResult func enqueue(
    _ payload: BorrowedPayload, _ completion: Completion?, by thread: UInt = Thread.current
  ) -> Bool {
    if mutant(.nestedPostIsLost), completion?.isAwaited != true, isInside { return false }
    var replaced: OwnedPayload?
    let mustSlowDown = enqueue { rareState in
      unsafe rareState.mailbox.append(payload, completion, by: thread)
      if let history = rareState.history { replaced = history.replaceLatest(payload) }
      return rareState.isOverloaded
    }
    _ = consume replaced  // destroyed after the mutex is released
    return mustSlowDown
  }

  /// Returns whether the caller must slow down. A handler of this event need not, because its sleep
  /// would only delay the drain. `append` is called under `mutex`.
  ///
  /// A single atomic step sets `busy` and `queued` and reads the old state. With two steps, the
  /// thread inside could leave between them without seeing the work, and no thread would do it.
  @inline(__always) func enqueue(
    drainer: UInt = Thread.current, _ append: (RareState) -> Bool
  ) -> Bool {
    let (old, isOverloaded) = appendWork(append)
    if old & ~CoreState.mustEnqueue == 0 {
      drain(drainer)
      return false
    }
    return isOverloaded && old & ~CoreState.flags != Thread.current
  }

  func enqueueForQueue(_ append: (RareState) -> Void) {
    let (old, _) = appendWork {
      append($0)
      return false
    }
    if old & ~CoreState.mustEnqueue == 0 { handOff(rareState) }
  }

  @inline(__always) private func appendWork(_ append: (RareState) -> Bool) -> (old: UInt, isOverloaded: Bool) {
    syncPoint(.foundBusy)
    // Safe: the core retains it.
    let rareState = unsafe pendingWorkReference.lend() ?? .passUnretained(rareState)
    mutex.lock()
    let isOverloaded = unsafe rareState._withUnsafeGuaranteedRef(append)
    syncPoint(.queued)
    let old = stateWord.bitwiseOr(CoreState.busy | CoreState.queued, ordering: .acquiringAndReleasing).oldValue
    mutex.unlock()
    return (old, isOverloaded)
  }

  private var isInside: Bool { stateWord.load(ordering: .relaxed) & ~CoreState.flags == Thread.current }
}
