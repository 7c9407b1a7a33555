import Dispatch
import Synchronization

// The fast paths of posts and sends are inlined into the user's module. The rest is compiled once,
// with the library.
extension EventCore {
  /// Each path has its own closure, because one closure around all paths would retain the sender
  /// even on the fast path.
  @inlinable @inline(__always) func post<Payload: Sendable>(
    _ payload: Payload, from sender: (any AnyObject & Sendable)?
  ) {
    let own = enter()
    guard own != 0 else { return lend(payload) { postBusy($0, from: sender) } }
    lend(payload) { payload in
      if let cursor = unsafe deliver(payload, isPost: true) { postSlowPath(payload, from: cursor, sender: sender) }
    }
    leave(own)
  }

  // Isolation: core.
  @usableFromInline @inline(never) func postSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, sender: (any AnyObject & Sendable)?
  ) {
    if mustSetAside(cursor) {
      return setAside(payload, sender == nil && !CarriedContext.isCarrying ? nil : Completion(.post, from: sender))
    }
    _ = unsafe deliverSlowPath(payload, from: cursor, isAwaited: false, sender: sender)
  }

  /// Not inlined, so that payload types with the same layout share this function (the compiler
  /// merges identical functions) and ``Event/send(_:from:)`` stays small enough to be inlined.
  /// Inlining that saves each send the call of an async function: 200 instructions on x86-64 Linux.
  @inlinable @inline(never) func send<Payload: Sendable>(
    _ payload: Payload, from sender: (any AnyObject & Sendable)?
  ) -> SendResult {
    let own = enter()
    let pending = lend(payload) { payload -> PendingSend? in
      guard own != 0 else { return sendBusy(payload, from: sender) }
      guard let cursor = unsafe deliver(payload, isPost: false) else { return nil }
      return sendSlowPath(payload, from: cursor, own, sender)
    }
    if let pending { return SendResult(pending: pending) }
    let result = unsafe SendResult(pending: nil, sequence: sequence, delivered: Int(table.count))
    leave(own)
    return result
  }

  /// Leaves the core. Isolation: core.
  @usableFromInline @inline(never) func sendSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, _ own: UInt, _ sender: (any AnyObject & Sendable)?
  ) -> PendingSend {
    if mustSetAside(cursor) {
      let completion = Completion(.send, from: sender)
      noteWait(.send, completion)
      setAside(payload, completion)
      return PendingSend(report: SendReport(), completion: completion)
    }
    let delivery = unsafe deliverSlowPath(payload, from: cursor, isAwaited: true, sender: sender)
    leave(own)
    return PendingSend(delivery)
  }

  func submit(_ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?) -> SendTicket {
    let completion = Completion(.ticket, from: sender)
    if isTraced { completion.noteOrigin() }
    noteWait(.ticket, completion)
    let own = DeliveryDepth.isTooDeep ? 0 : enter()
    if own != 0 {
      deliverQueued(payload, completion)
      leave(own)
    } else if enqueue(payload, completion) {
      OverloadControl.slowDown()
    }
    return SendTicket(completion: completion)
  }
}

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
    let rareState = unsafe rareStateReference.lend() ?? .passUnretained(rareState)
    mutex.lock()
    let isOverloaded = unsafe rareState._withUnsafeGuaranteedRef(append)
    syncPoint(.queued)
    let old = stateWord.bitwiseOr(CoreState.busy | CoreState.queued, ordering: .acquiringAndReleasing).oldValue
    mutex.unlock()
    return (old, isOverloaded)
  }

  private var isInside: Bool { stateWord.load(ordering: .relaxed) & ~CoreState.flags == Thread.current }
}
