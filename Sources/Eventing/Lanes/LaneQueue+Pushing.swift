// Enqueueing an occurrence on a lane, or dropping it. Isolation: core. Callers of `append` and
// `dropOldest` hold the mutex.

extension LaneQueue {
  func deliver(_ payload: BorrowedPayload, _ delivery: inout Delivery) {
    if mayCallHere, delivery.mayCallHere, let outcome = callHere(payload) {
      return delivery.report.count(outcome)
    }
    let completion = delivery.completionForLane()
    if isPlain { pushPlain(payload, completion) } else if !push(payload, completion) { return }
    delivery.enqueued &+= 1
  }

  func deliverPost(_ payload: BorrowedPayload) {
    if mayCallHere, callHere(payload) != nil { return }
    let completion = CarriedContext.isCarrying ? Completion(.post) : nil
    if isPlain { pushPlain(payload, completion) } else { _ = push(payload, completion) }
  }

  @inline(__always) private func pushPlain(_ payload: BorrowedPayload, _ completion: Completion?) {
    let key = unsafe keys?.key(of: payload, on: self)
    if let completion, completion.isAwaited { unsafe completion.expect(key?.takeUnretainedValue() ?? self) }
    lane.mutex.lock()
    guard unsafe completion == nil || !isPaused else {
      lane.mutex.unlock()
      _ = unsafe push(payload, completion, key)
      return
    }
    unsafe waiting &+= 1
    unsafe inbox.append(LaneItem(completion, key), payload)
    var worker: Worker?
    if unsafe !isPaused {
      lane.addToOrder(self)
      if unsafe entering == 0 { worker = lane.wakeWorker() }
    }
    lane.mutex.unlock()
    if let worker { begin(worker) }
  }

  /// Does what a worker would do, in half the instructions.
  @inline(__always) private func callHere(_ payload: BorrowedPayload) -> Outcome? {
    guard lane.isQuiet, case .now(let direct)? = unsafe direct, lane.beginHere(self) else { return nil }
    guard Scheduling.isOnMainQueue, mayRunNow, record.claim() else {
      lane.endHere(self, calls: 0)
      return nil
    }
    countCallAlone()
    var outcome = Outcome.delivered
    do { try direct(payload) } catch { outcome = failure(error, payload) }
    countEnd()
    lane.endHere(self, calls: 1)
    unregisterIfSpent()
    return outcome
  }

  /// A thread that releases the event, and thereby flushes the handler's pace, must not run
  /// handlers.
  private var mayRunNow: Bool { !isPaced || anchor.core != nil }

  private func push(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    if completion == nil, addToBatch(payload) { return true }
    let key = unsafe keys?.key(of: payload, on: self)
    if lane.isTaskForEachCall, unsafe key == nil, beginTask(payload, completion) { return true }
    if let completion, completion.isAwaited { unsafe completion.expect(key?.takeUnretainedValue() ?? self) }
    return unsafe push(payload, completion, key)
  }

  private func push(_ payload: BorrowedPayload, _ completion: Completion?, _ key: Unmanaged<KeyQueue>?) -> Bool {
    var effects = Effects()
    lane.mutex.lock()
    switch buffering.decision(waiting: unsafe waiting, completion) {
    case .keep: break
    case .dropIt: effects.isDropped = true
    case .dropOldest: dropOldest(&effects)
    }
    if effects.isDropped {
      effects.dropped = unsafe (completion, key?.takeUnretainedValue() ?? self)
      unsafe key?._withUnsafeGuaranteedRef { $0.noteEnd() }
    } else {
      unsafe append(payload, completion, key, &effects)
    }
    lane.mutex.unlock()
    return finish(effects)
  }

  private func addToBatch(_ payload: BorrowedPayload) -> Bool {
    guard batchQueue != nil, keys == nil, !buffering.isBounded, let batch = modifiers.batch else { return false }
    lane.mutex.lock()
    defer { lane.mutex.unlock() }
    guard unsafe gathering > 0, unsafe gathering &+ 1 < batch.count else { return false }
    unsafe inbox.append(LaneItem(nil), payload)
    unsafe gathering &+= 1
    unsafe waiting &+= 1
    return true
  }

  private func beginTask(_ payload: BorrowedPayload, _ completion: Completion?) -> Bool {
    lane.mutex.lock()
    guard unsafe !isPaused, !buffering.isBounded else {
      lane.mutex.unlock()
      return false
    }
    let worker = lane.occupyWorker()
    unsafe running &+= 1
    unsafe lastNumber &+= 1
    let call = worker.call
    call.reserve(for: self)
    unsafe call.begin(LaneItem(completion))
    unsafe (call.number, call.hasMoved) = unsafe (lastNumber, true)
    unsafe (worker.owesEnd, worker.hasCall) = (true, true)
    lane.mutex.unlock()
    unsafe layout.copy(payload, to: call.place)
    if let completion, completion.isAwaited { completion.expect(call) }
    lane.start(worker)
    return true
  }

  private func begin(_ worker: Worker) {
    if mayRunHere, Scheduling.isOnMainQueue, mayRunNow {
      lane.register(worker)
      lane.drain(worker, isHere: true)
    } else {
      lane.start(worker)
    }
  }

  private struct Effects: ~Copyable {
    var isDropped = false
    var dropped: (completion: Completion?, node: WaitNode)?
    var droppedPayload: OwnedPayload?
    var droppedCall: Call?
    var start: Worker?
    var after = HandlerLane.After()
    var replaced: (delay: Delay?, attempt: AttemptTask?)?
    var wakes = false
  }

  private func append(
    _ payload: BorrowedPayload, _ completion: Completion?, _ key: Unmanaged<KeyQueue>?, _ effects: inout Effects
  ) {
    // Nothing waits for an occurrence that a lock holds.
    let kept =
      unsafe isPaused
      ? effects.after.detach(completion, at: key?.takeUnretainedValue() ?? self, of: self) : completion
    let item = unsafe LaneItem(kept, key)
    unsafe waiting &+= 1
    if let batch = modifiers.batch {
      unsafe gather(item, payload, batch, key?.takeUnretainedValue(), &effects.after)
    } else {
      unsafe inbox.append(item, payload)
      if unsafe !isPaused { lane.addToOrder(self) }
    }
    if modifiers.isRestarting, let current = unsafe current {
      unsafe current.isReplaced = true
      effects.replaced = unsafe (current.rare.timer, current.rare.attempt)
    }
    if unsafe isPaused || entering != 0 { return }
    if lane.isTaskForEachCall { effects.wakes = true } else if openCount > 0 { effects.start = lane.wakeWorker() }
  }

  /// O(waiting keys and held calls).
  private func dropOldest(_ effects: inout Effects) {
    noteDequeued(1)
    let oldestKey = unsafe parkedKeys.values.min { $0.firstNumber < $1.firstNumber }
    if let index = unsafe held.firstIndex(where: { unsafe $0.attempts == 0 }),
      unsafe held[index].number < oldestKey?.firstNumber ?? .max
    {
      return dropHeld(index, &effects)
    }
    let memory = unsafe layout.allocate(1)
    let item: LaneItem
    if let key = oldestKey, let popped = unsafe key.popCall(to: memory) {
      item = popped
      unsafe running -= 1
      if !key.hasCalls {
        unsafe key.isOpen = false
        // Under a lock, no worker would reach them.
        if unsafe !key.isActive { key.popFollowers(&effects.after) }
      }
    } else {
      let isOpen = unsafe inbox.count - followers > gathering
      item = unsafe inbox.popCall(to: memory)
      if !isOpen {
        unsafe gathering -= 1
      } else if lane.isShared, unsafe !isPaused {
        unsafe debt += 1
      }
    }
    effects.droppedPayload = unsafe OwnedPayload(adopting: memory, layout)
    unsafe item.key?._withUnsafeGuaranteedRef { $0.noteEnd() }
    effects.dropped = unsafe (item.completion, item.key?.takeUnretainedValue() ?? self)
  }

  private func dropHeld(_ index: Int, _ effects: inout Effects) {
    let call = unsafe held[index]
    if unsafe call.isRare, unsafe call.rare.isBatch, unsafe call.count > 1 {
      unsafe call.key?._withUnsafeGuaranteedRef { $0.noteEnd() }
      effects.droppedPayload = call.dropFirstOfBatch(&effects.dropped)
      return
    }
    effects.dropped = (call.completions.first, call.node)
    effects.droppedCall = unsafe held.remove(at: index)
    free(call, &effects.after)
  }

  private func finish(_ effects: consuming Effects) -> Bool {
    effects.droppedCall?.clear()
    effects.after.run(lane, nil)  // cancels the timer of a batch before the next line starts it
    if let start = effects.start { begin(start) }
    if effects.wakes { lane.wake() }
    if let replaced = effects.replaced {
      // Cancellation handlers are user code and must not delay the delivering thread.
      if let attempt = replaced.attempt { Scheduling.concurrentBlock { attempt.cancel() } }
      replaced.delay?.fireNow()
    }
    // Last, because an observer is told, which may take its time.
    if let dropped = effects.dropped { drop(dropped.completion, at: dropped.node) }
    return !effects.isDropped
  }
}

extension Buffering {
  enum Decision { case keep, dropIt, dropOldest }

  func decision(waiting: Int, isSend: Bool) -> Decision {
    switch kind {
    case .unbounded: .keep
    case .oldest(let count): waiting < count ? .keep : .dropIt
    case .newest(let count): waiting < count ? .keep : .dropOldest
    case .suspendingSender(let count): waiting < count || isSend ? .keep : .dropIt
    case .paced: waiting < 1 ? .keep : .dropOldest
    }
  }

  func decision(waiting: Int, _ completion: Completion?) -> Decision {
    if case .paced = kind, unsafe completion?.needsNoRoom == true { return .keep }
    return decision(waiting: waiting, isSend: completion?.isSend == true)
  }
}
