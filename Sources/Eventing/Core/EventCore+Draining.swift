import Dispatch
import Synchronization

/// A poster's drain has the number of the poster's thread, which identifies its own items.
@usableFromInline enum Drainer {
  static var queue: UInt { 0 }
  /// Runs only isolated calls, because handlers and the `deinit`s of their captures may block.
  static var pool: UInt { .max }
}

extension EventCore {
  /// Leaves the core. Isolation: core.
  ///
  /// The event's own queue does all kinds of work; a block in the pool runs only isolated calls.
  /// Any other thread applies the changes of all threads but delivers only its own occurrences. It
  /// hands off the rest when it reaches:
  ///
  /// - an occurrence that another thread enqueued, or a lock that another thread ended;
  /// - an isolated call;
  /// - any item, if deliveries are nested too deeply or it has applied more than
  ///   ``OverloadControl/foreignChanges`` changes of other threads. A barrier and the end of the
  ///   event count as such changes.
  func drain(_ drainer: UInt) {
    let own = Thread.current | CoreState.busy
    if stateWord.load(ordering: .relaxed) | CoreState.queued != own | CoreState.queued {
      stateWord.bitwiseOr(own, ordering: .relaxed)
    }
    let rareState = rareState
    if drainer != Drainer.queue, DeliveryDepth.isTooDeep { return handOff(rareState) }
    unsafe rareState.isDraining = true
    var foreignChanges = 0
    var look: UInt64 = 0
    while true {
      var plain = unsafe plainAnchor
      while unsafe !rareState.batch.isEmpty {
        if unsafe look != 0 || !rareState.ready.isEmpty { goOn(&look, drainer, rareState) }
        if drainer != Drainer.queue {
          if foreignChanges > OverloadControl.foreignChanges || !mayDrain(drainer, unsafe rareState.batch.first) {
            return handOff(rareState)
          }
        }
        let item = unsafe rareState.batch.takeFirst()
        if case .occurrence(_, let completion) = item {
          let payload = unsafe rareState.batch.taken
          if completion == nil, let anchor = unsafe plain {
            unsafe deliverPost(payload, anchor)
          } else {
            deliverQueued(payload, completion)
          }
          // Each payload is destroyed right after its delivery, not with the batch.
          unsafe rareState.batch.destroyTaken()
          continue
        }
        if case .job(let job) = item {
          look = rareState.look.begin(job)
          unsafe job.runSynchronously(on: asUnownedSerialExecutor())
          continue
        }
        foreignChanges += work(on: item, for: drainer)
        unsafe plain = plainAnchor
      }
      unsafe rareState.batch.recycle()
      var unregistering: ContiguousArray<(record: HandlerRecord, by: UInt)> = []
      syncPoint(.draining)
      mutex.lock()
      unsafe rareState.drained.note(rareState.mailbox.occurrenceCount, at: sequence)
      unsafe rareState.mailbox.takeItems(into: &rareState.batch)
      if drainer != Drainer.pool { unsafe swap(&rareState.mailbox.unregistering, &unregistering) }
      let mustUnregister = unsafe !rareState.mailbox.unregistering.isEmpty
      if drainer == Drainer.queue { rareState.overload.isOn.store(false, ordering: .relaxed) }
      let isEmpty = unsafe rareState.batch.isEmpty && unregistering.isEmpty && !mustUnregister
      var ready: [UnsafeContinuation<Void, Never>] = unsafe []
      unsafe swap(&ready, &rareState.ready)
      if isEmpty { unsafe rareState.isDraining = false }
      stateWord.publish(isEmpty ? idle : own)
      mutex.unlock()
      if look != 0 { rareState.look.end(look) }
      look = 0
      if unsafe !ready.isEmpty { unsafe resume(ready, drainer) }
      if isEmpty { return }  // The thread is outside the core and must touch nothing from here on.
      if mustUnregister { return handOff(rareState) }
      for (record, thread) in unregistering {
        if thread != drainer { foreignChanges += 1 }
        unregister(record)
      }
      if drainer != Drainer.queue, foreignChanges > OverloadControl.foreignChanges { return handOff(rareState) }
    }
  }

  @inline(never) private func goOn(_ look: inout UInt64, _ drainer: UInt, _ rareState: RareState) {
    if look != 0 { rareState.look.end(look) }
    look = 0
    var ready: [UnsafeContinuation<Void, Never>] = unsafe []
    unsafe swap(&ready, &rareState.ready)
    unsafe resume(ready, drainer)
  }

  private func resume(_ ready: [UnsafeContinuation<Void, Never>], _ drainer: UInt) {
    if drainer == Drainer.queue { unsafe Scheduling.resumeHere(ready) } else { unsafe Scheduling.resume(ready) }
  }

  /// During a drain, ready waiters aren't resumed until it leaves the core or does other work, so
  /// that they find the event idle if possible. Isolation: core.
  func endDelivery(of completion: Completion, _ report: SendReport) {
    let ready = unsafe completion.endDelivery(report)
    if unsafe ready.isEmpty { return }
    let rareState = rareState
    if unsafe rareState.isDraining {
      unsafe rareState.ready += ready
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
    default: drainer != Drainer.pool  // closures may be released, and their captures' deinits may block
    }
  }

  /// Handlers may block. On shared threads, each would delay other events: by a second on
  /// `DispatchQueue.global()`, and for as long as it blocks in Swift's pool.
  func handOff(_ rareState: RareState) {
    unsafe rareState.isDraining = false
    stateWord.bitwiseAnd(CoreState.flags, ordering: .relaxed)  // no thread is inside until the block begins
    Scheduling.block(on: drainQueue(rareState)) { self.drain(Drainer.queue) }
  }

  // Isolation: core.
  private func drainQueue(_ rareState: RareState) -> DispatchQueue {
    if let queue = unsafe rareState.drainQueue { return queue }
    // Without an explicit quality of service, Dispatch on Apple platforms would use that of the
    // thread that hands the drain off, so a background thread would delay the main thread's posts.
    let queue = DispatchQueue(label: "eventing.event", qos: .userInitiated)
    queue.setSpecific(key: OverloadControl.drained, value: rareState.overload)
    unsafe rareState.drainQueue = queue
    return queue
  }

  // Isolation: core.
  private func sendBarrier(_ completion: Completion) {
    unsafe forEachSlot { slot in
      unsafe slot.pointee.record.details?.route?.target?.sendBarrier(completion)
    }
    if let rareState = rareStateReference.load() {
      for lane in unsafe rareState.retiringTargets { lane.sendBarrier(completion) }
    }
    // A pace delivers its pending occurrence before the barrier and may have found that the handler
    // has ended.
    unregisterDead()
    endDelivery(of: completion, SendReport())
  }
}
