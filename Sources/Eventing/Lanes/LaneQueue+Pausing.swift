import Synchronization

// Locks that hold occurrences, barriers and the end of the handler: everything that stops or
// empties a handler's queue. The functions called by the event are isolated to the core. Callers of
// `refusal(of:)` and of functions with an `inout` parameter hold the mutex, except those of
// `skip(_:_:)`, which completes what was taken out.

extension LaneQueue {
  // MARK: Locks

  func refused(_ worker: Worker) -> ClaimRefusal {
    let call = worker.call
    var after = HandlerLane.After()
    // `resume()` takes the mutex after the flags change, so a call paused here because of flags
    // read under the mutex is sure to be resumed.
    let refusal = lane.mutex.withLock { () -> ClaimRefusal in
      let refusal = self.refusal(of: call)
      guard case .pause = refusal else { return refusal }
      call.detach(from: self, &after)
      call.passBarriers(&after)
      if unsafe call.attempts == 0 { unsafe noteDequeued(-call.count) }
      if let key = unsafe call.key?.takeUnretainedValue() {
        key.worker.clear()
        unsafe detach(&key.parked, key, &after)  // only barriers may be left there
      }
      if unsafe !isPaused {
        unsafe isPaused = true
        _ = putBackReady()
        lane.removeFromOrder(self)
        unsafe detach(&inbox, self, &after)
        for key in keysInOrder { unsafe detach(&key.parked, key, &after) }
        passProbes(&after)
      }
      let place = unsafe held.firstIndex { unsafe $0.number > call.number } ?? held.endIndex
      unsafe held.insert(call, at: place)
      worker.leaveCall()
      return .pause
    }
    after.run(lane, nil)
    return refusal
  }

  private func refusal(of call: Call) -> ClaimRefusal {
    if call.isGivenUp { return .skip }
    // The first attempt uses up a once handler, but further attempts may still follow.
    let end = unsafe call.attempts == 0 ? HandlerFlags.ended : HandlerFlags.removed
    return unsafe refusal(isEnding: phase != .active, endedBy: end)
  }

  private func detach(_ queue: inout PayloadQueue<LaneItem>, _ node: WaitNode, _ after: inout HandlerLane.After) {
    for i in 0..<queue.count {
      let item = queue[i]
      guard let completion = item.completion else { continue }
      if item.kind == .barrier {
        after.add { $0.passed.append((completion, node)) }
        queue[i] = unsafe LaneItem(nil, nil, .hole)
      } else {
        queue[i].completion = unsafe after.detach(completion, at: item.key?.takeUnretainedValue() ?? node, of: self)
      }
    }
  }

  func resumeWaiting() {
    lane.mutex.withLock {
      guard unsafe isPaused else { return }
      unsafe isPaused = false
      for key in keysInOrder where unsafe !key.isActive {
        guard modifiers.batch == nil else {
          if unsafe key.isOpen, unsafe !key.isQueued { enqueue(key) }
          continue
        }
        // The key's running call ended during the pause.
        let (call, number) = (Call(), key.firstNumber)
        call.reserve(for: self)
        guard let item = unsafe key.popCall(to: call.place) else { continue }
        call.begin(item)
        unsafe call.number = number
        unsafe key.isActive = true
        unsafe held.append(call)
      }
      for call in unsafe held where unsafe call.attempts == 0 { unsafe noteDequeued(call.count) }
      unsafe away += held
      unsafe lane.putFirst(held.sorted { unsafe $0.number < $1.number }, self, inbox.count - gathering)
      unsafe held = []
    }
    lane.wake()
  }

  // MARK: Barriers

  func enqueueBarrier(_ completion: Completion) {
    if mutant(.barrierOvertakes) { return }
    if completion.purpose == .probe, batchQueue != nil { return sendProbe(completion) }
    completion.expect(self)
    var after = HandlerLane.After()
    lane.mutex.withLock {
      openAll(&after)
      if unsafe isPaused || phase == .closed { return after.add { $0.reached.append((completion, self, self)) } }
      unsafe inbox.append(LaneItem(completion, nil, .barrier))
      unsafe followers += 1
      lane.addToOrder(self)
    }
    after.run(lane, nil)
    lane.wake()
  }

  private func sendProbe(_ completion: Completion) {
    let worker = lane.mutex.withLock { unsafe openCount > 0 ? lane.workers.first : nil }
    let node: WaitNode = worker ?? self
    completion.expect(node)
    let isLate = lane.mutex.withLock { () -> Bool in
      guard openCount > 0, node !== self else { return true }
      unsafe probes.append((completion, node))
      return false
    }
    if isLate { pass(completion, at: node) }
  }

  func passProbes(_ after: inout HandlerLane.After) {
    guard unsafe !probes.isEmpty else { return }
    after.add { unsafe $0.reached += probes.map { ($0.completion, $0.node, self) } }
    unsafe probes = []
  }

  /// If one of the running calls waits for the barrier, only that call is deferred.
  func pass(_ completion: Completion, at node: WaitNode) {
    let (begun, keys) = lane.mutex.withLock {
      unsafe (begunCalls.map { unsafe ($0, $0.number) }, isPaused ? [] : keysInOrder)
    }
    for (call, _) in begun { completion.expect(call) }
    for key in keys { completion.expect(key) }
    let late = lane.mutex.withLock { () -> [WaitNode] in
      var late: [WaitNode] = []
      for (call, number) in begun {
        if unsafe call.number == number, unsafe !held.contains(where: { $0 === call }) {
          unsafe call.barriers.append(completion)
        } else {
          late.append(call)
        }
      }
      for key in keys {
        if unsafe !isPaused, unsafe key.isActive || key.hasCalls {
          unsafe key.parked.append(LaneItem(completion, nil, .barrier))
        } else {
          late.append(key)
        }
      }
      return late
    }
    for node in late { completion.arrive(node, nil) }
    completion.arrive(node, nil)
  }

  // MARK: The end

  func enqueueEnd() -> Bool {
    var waiting = PayloadQueue<LaneItem>(layout)
    var calls: [Call] = []
    var after = HandlerLane.After()
    let (isIdle, ends) = lane.mutex.withLock { () -> (Bool, Bool) in
      unsafe phase = .ending
      // After the first attempt has used up a once handler, further attempts may follow.
      // Unregistering the handler calls `finish()`, which must not end the delays between them.
      if !record.has(HandlerFlags.spent) || record.has(HandlerFlags.removed) { unsafe endsDelays = true }
      openAll(&after)
      if unsafe isPaused {
        removeWaiting(to: &waiting, &after)
        unsafe swap(&held, &calls)
        for call in calls { free(call, &after) }
        unsafe isPaused = false
      }
      let isIdle = unsafe inbox.isEmpty && running == 0 && (isTracked || lane.isQuiet)
      if isIdle {
        unsafe phase = .closed
        passProbes(&after)
      } else {
        unsafe inbox.append(LaneItem(nil, nil, .end))
        unsafe followers += 1
        lane.addToOrder(self)
      }
      return unsafe (isIdle, endsDelays)
    }
    skip(calls, &waiting)
    after.run(lane, nil)
    if ends { record.delays?.end() }
    if isIdle { close() } else { lane.wake() }
    return isIdle
  }

  /// Keeps sends and payloads from waiting for a call that hangs.
  func skipWaiting() {
    var waiting = PayloadQueue<LaneItem>(layout)
    var calls: [Call] = []
    var after = HandlerLane.After()
    let isOver = lane.mutex.withLock { () -> Bool in
      openAll(&after)
      if mayEmptyReady() { _ = putBackReady() }
      removeWaiting(to: &waiting, &after)
      // The other calls without a worker are between two attempts and make one last attempt.
      lane.removeUrgent { call in
        guard unsafe call.queue?.toOpaque() == Unmanaged.passUnretained(self).toOpaque(),
          unsafe call.attempts == 0 || call.rare.isLastAttempt
        else { return false }
        calls.append(call)
        return true
      }
      for call in calls {
        unsafe away.removeAll { $0 === call }
        free(call, &after)
      }
      lane.removeFromOrder(self)
      if unsafe followers > 0 { unsafe lane.addToOrder(self, followers) }
      // If `dequeuesAll`, the worker that reaches the end closes the handler.
      guard !dequeuesAll, unsafe phase == .ended, unsafe running == 0, unsafe inbox.isEmpty else { return false }
      unsafe phase = .closed
      return true
    }
    skip(calls, &waiting)
    after.run(lane, nil)
    keys?.sweep()  // the keys of the skipped items
    if isOver { closeLate() } else { lane.wake() }
  }

  private func removeWaiting(to waiting: inout PayloadQueue<LaneItem>, _ after: inout HandlerLane.After) {
    unsafe swap(&inbox, &waiting)
    unsafe followers = 0
    for i in 0..<waiting.count {
      let item = waiting[i]
      unsafe item.key?._withUnsafeGuaranteedRef { if item.isCall { $0.noteEnd() } }
      guard item.kind == .barrier || item.kind == .end else { continue }
      unsafe inbox.append(item)
      unsafe followers += 1
      waiting[i] = unsafe LaneItem(nil, nil, .hole)
    }
    for key in keysInOrder {
      unsafe running -= key.waitingCount
      key.popAll(into: &waiting, &after)
    }
    if !dequeuesAll { unsafe self.waiting = 0 }
    unsafe (gathering, parkedKeys) = (0, [:])
  }

  func free(_ call: Call, _ after: inout HandlerLane.After) {
    if isTracked { unsafe running -= 1 }
    if unsafe entering == call.number { unsafe entering = 0 }
    unsafe call.number = 0
    call.passBarriers(&after)
    guard let key = unsafe call.key?.takeUnretainedValue() else { return }
    unsafe key.noteEnd(call.count)
    unsafe key.isActive = false
    key.popFollowers(&after)
  }

  @inline(never) private func skip(_ calls: [Call], _ waiting: inout PayloadQueue<LaneItem>) {
    for call in calls { conclude(call, lastOutcome(call)) }
    while !waiting.isEmpty {
      let item = waiting.takeFirst()
      guard item.isCall else { continue }
      waiting.destroyTaken()
      skip(item.completion, at: unsafe item.key?.takeUnretainedValue() ?? self)
    }
  }
}

extension Completion {
  var isToBeTold: Bool { unsafe (isAwaited || observed != nil && !isHeldKnown) && !staysInHand }

  /// A transport holds on to the message until the lock ends, so its completion keeps waiting.
  var staysInHand: Bool { account != nil }

  var withoutWaiting: Completion? {
    if staysInHand { return self }
    return unsafe isBound || path != nil ? Completion(withoutWaiting: context, observed, along: path) : nil
  }
}
