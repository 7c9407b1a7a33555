import Dispatch
import Synchronization

/// The numbers of the drainers that are blocks of Dispatch. No thread has one of these numbers. A
/// drain by a thread that posted or made a change has the number of that thread instead.
/// Occurrences and changes in the mailbox note the number of the thread that enqueued them. A drain
/// compares these numbers with its own, to find the items that its thread enqueued.
@usableFromInline enum Drainer {
  /// The drainer is a block of the event's own queue. It does all work.
  static var queue: UInt { 0 }
  /// The drainer is a block of Dispatch's global queue. It runs isolated calls only: such calls do
  /// not block, but handlers and the `deinit` of their captures may.
  static var pool: UInt { .max }
}

extension EventCore {
  /// Drains the mailbox in order, and leaves the core. Isolation: core.
  ///
  /// The event's own queue (``Drainer/queue``) does all work. A block of the pool
  /// (``Drainer/pool``) runs isolated calls only.
  ///
  /// A thread that posted or made a change applies the changes of all threads. It delivers only the
  /// occurrences that it has enqueued itself. When the thread comes to one of these items, it hands
  /// that item and the rest off:
  ///
  /// - an occurrence that another thread enqueued;
  /// - the end of a lock that another thread ended;
  /// - an isolated call;
  /// - any item, if the thread is too deep in deliveries (``DeliveryDepth``);
  /// - any item, after more than ``OverloadControl/foreignChanges`` changes of other threads. Each
  ///   barrier, and the end of the event, counts as a change of another thread.
  ///
  /// - Parameter drainer: The number of the calling thread, which posted or made a change, or a
  ///   ``Drainer``.
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

  /// Resumes the tasks that waited for what a drain has done, before the drain goes on with other
  /// work.
  @inline(never) private func goOn(_ look: inout UInt64, _ drainer: UInt, _ pendingWork: PendingWork) {
    if look != 0 { pendingWork.look.end(look) }
    look = 0
    var ready: [UnsafeContinuation<Void, Never>] = unsafe []
    unsafe swap(&ready, &pendingWork.ready)
    unsafe resume(ready, drainer)
  }

  /// Resumes tasks: at once in a block of the event's own queue, and elsewhere if the thread may be
  /// running the user's code.
  private func resume(_ ready: [UnsafeContinuation<Void, Never>], _ drainer: UInt) {
    if drainer == Drainer.queue { unsafe Scheduling.resumeHere(ready) } else { unsafe Scheduling.resume(ready) }
  }

  /// Records that the event has delivered an occurrence, or has sent a barrier through its lanes.
  /// The waiters that are ready go on when the event is idle, if it becomes idle now. Isolation:
  /// core.
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

  /// Does the work of an item that is neither an occurrence nor an isolated call.
  ///
  /// - Returns: The number of changes of other threads that the item counts as. The drain adds up
  ///   these numbers, and hands the rest off above a limit: see ``drain(_:)``. A barrier counts as
  ///   1, and so does the end of the event. If another thread than `drainer` enqueued the item, a
  ///   change counts as 1, and a group of new handlers as their number. Other items count as 0.
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

  /// Returns whether a drainer may work on an item, or must hand it off.
  @inline(__always) private func mayDrain(_ drainer: UInt, _ item: WorkItem) -> Bool {
    switch item {
    case .occurrence(let thread, _), .release(_, let thread): thread == drainer
    case .job: drainer == Drainer.pool
    default: drainer != Drainer.pool  // closures may be released, and the deinit of their captures may block
    }
  }

  /// Hands the rest of the drain off to a serial queue of the event's own.
  ///
  /// Handlers may block. On threads that events share, this would delay other events: on
  /// `DispatchQueue.global()`, two blocks that block delay a third one by a second; in Swift's
  /// pool, they delay it as long as they block.
  func handOff(_ pendingWork: PendingWork) {
    unsafe pendingWork.isDraining = false
    stateWord.bitwiseAnd(CoreState.flags, ordering: .relaxed)  // no thread is inside until the block begins
    Scheduling.block(on: drainQueue(pendingWork)) { self.drain(Drainer.queue) }
  }

  /// Returns the event's own queue; creates it if there is none. Isolation: core.
  private func drainQueue(_ pendingWork: PendingWork) -> DispatchQueue {
    if let queue = unsafe pendingWork.drainQueue { return queue }
    // If the queue had no quality of service, Dispatch on Apple's systems would take it from the
    // thread that hands off. Then a background thread would delay the posts of the main thread.
    let queue = DispatchQueue(label: "eventing.event", qos: .userInitiated)
    queue.setSpecific(key: OverloadControl.drained, value: pendingWork.overload)
    unsafe pendingWork.drainQueue = queue
    return queue
  }

  /// Sends a completion through all lanes, behind the calls that wait there. Isolation: core.
  private func sendBarrier(_ completion: Completion) {
    unsafe forEachSlot { slot in
      unsafe slot.pointee.record.details?.route?.target?.sendBarrier(completion)
    }
    if let pendingWork = pendingWorkReference.load() {
      for lane in unsafe pendingWork.retiringLanes { lane.sendBarrier(completion) }
    }
    // Before the barrier, a pace delivers the occurrence that it keeps. That delivery may have
    // found that the handler has ended.
    unregisterDead()
    endDelivery(of: completion, SendReport())
  }
}
