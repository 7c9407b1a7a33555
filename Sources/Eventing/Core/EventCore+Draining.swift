import Dispatch
import Synchronization

/// A drain by a poster has the number of its thread, by which it finds its own items.
@usableFromInline enum Drainer {
  static var queue: UInt { 0 }
  /// Runs isolated calls only, because handlers and their captures' `deinit`s may block.
  static var pool: UInt { .max }
}

extension EventCore {
  /// Leaves the core. Isolation: core.
  ///
  /// The event's own queue does all work, a block of the pool isolated calls only. Another thread
  /// applies the changes of all threads, but delivers only its own occurrences. It hands the rest
  /// off at:
  ///
  /// - an occurrence that another thread enqueued, or a lock that another thread ended;
  /// - an isolated call;
  /// - any item, if it is too deep in deliveries, or has made more than
  ///   ``OverloadControl/foreignChanges`` changes of other threads. A barrier and the end of the
  ///   event count as such changes.
  func drain(_ drainer: UInt) {
    let own = Thread.current | CoreState.busy
    if stateWord.load(ordering: .relaxed) | CoreState.queued != own | CoreState.queued {
      stateWord.bitwiseOr(own, ordering: .relaxed)
    }
    let pendingWork = pendingWork
    if drainer != Drainer.queue, DeliveryDepth.isTooDeep { return handOff(pendingWork) }
    unsafe pendingWork.isDraining = true
    var foreignChanges = 0
    var look: UInt64 = 0
    while true {
      var plain = unsafe plainAnchor
      while unsafe !pendingWork.batch.isEmpty {
        if unsafe look != 0 || !pendingWork.ready.isEmpty { goOn(&look, drainer, pendingWork) }
        if drainer != Drainer.queue {
          if foreignChanges > OverloadControl.foreignChanges || !mayDrain(drainer, unsafe pendingWork.batch.first) {
            return handOff(pendingWork)
          }
        }
        let item = unsafe pendingWork.batch.takeFirst()
        if case .occurrence(_, let completion) = item {
          let payload = unsafe pendingWork.batch.taken
          if completion == nil, let anchor = unsafe plain {
            unsafe deliverPost(payload, anchor)
          } else {
            deliverQueued(payload, completion)
          }
          // Each payload is destroyed after its delivery, not with the batch.
          unsafe pendingWork.batch.destroyTaken()
          continue
        }
        if case .job(let job) = item {
          look = pendingWork.look.begin(job)
          unsafe job.runSynchronously(on: asUnownedSerialExecutor())
          continue
        }
        foreignChanges += work(on: item, for: drainer)
        unsafe plain = plainAnchor
      }
      unsafe pendingWork.batch.recycle()
      var unregistering: ContiguousArray<(record: HandlerRecord, by: UInt)> = []
      syncPoint(.draining)
      mutex.lock()
      unsafe pendingWork.drained.note(pendingWork.mailbox.occurrenceCount, at: sequence)
      unsafe pendingWork.mailbox.takeItems(into: &pendingWork.batch)
      if drainer != Drainer.pool { unsafe swap(&pendingWork.mailbox.unregistering, &unregistering) }
      let mustUnregister = unsafe !pendingWork.mailbox.unregistering.isEmpty
      if drainer == Drainer.queue { pendingWork.overload.isOn.store(false, ordering: .relaxed) }
      let isEmpty = unsafe pendingWork.batch.isEmpty && unregistering.isEmpty && !mustUnregister
      var ready: [UnsafeContinuation<Void, Never>] = unsafe []
      unsafe swap(&ready, &pendingWork.ready)
      if isEmpty { unsafe pendingWork.isDraining = false }
      stateWord.publish(isEmpty ? idle : own)
      mutex.unlock()
      if look != 0 { pendingWork.look.end(look) }
      look = 0
      if unsafe !ready.isEmpty { unsafe resume(ready, drainer) }
      if isEmpty { return }  // The thread is outside the core: it must touch nothing from here on.
      if mustUnregister { return handOff(pendingWork) }
      for (record, thread) in unregistering {
        if thread != drainer { foreignChanges += 1 }
        unregister(record)
      }
      if drainer != Drainer.queue, foreignChanges > OverloadControl.foreignChanges { return handOff(pendingWork) }
    }
  }

  @inline(never) private func goOn(_ look: inout UInt64, _ drainer: UInt, _ pendingWork: PendingWork) {
    if look != 0 { pendingWork.look.end(look) }
    look = 0
    var ready: [UnsafeContinuation<Void, Never>] = unsafe []
    unsafe swap(&ready, &pendingWork.ready)
    unsafe resume(ready, drainer)
  }

  private func resume(_ ready: [UnsafeContinuation<Void, Never>], _ drainer: UInt) {
    if drainer == Drainer.queue { unsafe Scheduling.resumeHere(ready) } else { unsafe Scheduling.resume(ready) }
  }

  /// Ready waiters go on when the event is idle, if it becomes idle now. Isolation: core.
  func endDelivery(of completion: Completion, _ report: SendReport) {
    let ready = unsafe completion.endDelivery(report)
    if unsafe ready.isEmpty { return }
    let pendingWork = pendingWork
    if unsafe pendingWork.isDraining {
      unsafe pendingWork.ready += ready
    } else {
      unsafe Scheduling.resume(ready)
    }
  }

  private func work(on item: WorkItem, for drainer: UInt) -> Int {
    switch item {
    case .occurrence, .job: preconditionFailure("the drain delivers occurrences, and runs isolated calls")
    case .join(let count, let thread):
      join(count)
      return thread == drainer ? 0 : count
    case .barrier(let completion):
      sweepAllKeys()
      sendBarrier(completion)
      return 1
    case .release(let end, _):
      release(end)
      return 0
    case .change(let change, let thread):
      change()
      return thread == drainer ? 0 : 1
    case .finish:
      finishTable()
      return 1
    }
  }

  @inline(__always) private func mayDrain(_ drainer: UInt, _ item: WorkItem) -> Bool {
    switch item {
    case .occurrence(let thread, _), .release(_, let thread): thread == drainer
    case .job: drainer == Drainer.pool
    default: drainer != Drainer.pool  // closures may be released, and the deinit of their captures may block
    }
  }

  /// Handlers may block. On shared threads that would delay other events: by a second each on
  /// `DispatchQueue.global()`, and as long as they block in Swift's pool.
  func handOff(_ pendingWork: PendingWork) {
    unsafe pendingWork.isDraining = false
    stateWord.bitwiseAnd(CoreState.flags, ordering: .relaxed)  // no thread is inside until the block begins
    Scheduling.block(on: drainQueue(pendingWork)) { self.drain(Drainer.queue) }
  }

  /// Isolation: core.
  private func drainQueue(_ pendingWork: PendingWork) -> DispatchQueue {
    if let queue = unsafe pendingWork.drainQueue { return queue }
    // Without a quality of service, Dispatch on Apple's systems would take that of the thread that
    // hands off, and a background thread would delay the posts of the main thread.
    let queue = DispatchQueue(label: "eventing.event", qos: .userInitiated)
    queue.setSpecific(key: OverloadControl.drained, value: pendingWork.overload)
    unsafe pendingWork.drainQueue = queue
    return queue
  }

  /// Isolation: core.
  private func sendBarrier(_ completion: Completion) {
    unsafe forEachSlot { slot in
      unsafe slot.pointee.record.details?.route?.target?.sendBarrier(completion)
    }
    if let pendingWork = pendingWorkReference.load() {
      for lane in unsafe pendingWork.retiringLanes { lane.sendBarrier(completion) }
    }
    // Before the barrier, a pace delivers what it keeps, and may have found that the handler has
    // ended.
    unregisterDead()
    endDelivery(of: completion, SendReport())
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
    enqueue { pendingWork in
      unsafe pendingWork.mailbox.items.append(item)
      return unsafe item.isChange && pendingWork.mailbox.isOverloadedByChanges
    }
  }

  /// - Parameter thread: The poster, whose drain may deliver the occurrence. ``Drainer/queue`` if
  ///   only the event's own queue may.
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

  /// Returns whether the caller must slow down; not if it is a handler of this event, whose sleep
  /// would only delay the drain. `append` is called under `mutex`.
  ///
  /// One atomic step sets `busy` and `queued`, and reads the old state. With two, the thread inside
  /// could leave between them without seeing the work, which then no thread would do.
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

  func enqueueForQueue(_ append: (PendingWork) -> Void) {
    let (old, _) = appendWork {
      append($0)
      return false
    }
    if old & ~CoreState.mustEnqueue == 0 { handOff(pendingWork) }
  }

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

  private var isInside: Bool { stateWord.load(ordering: .relaxed) & ~CoreState.flags == Thread.current }
}
