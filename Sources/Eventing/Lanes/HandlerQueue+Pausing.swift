import Synchronization

// Locks that hold occurrences, barriers and the end of the handler: everything that stops or
// empties a handler's queue. The functions called by the event are isolated to the core. Callers of
// `refusal(of:)` and of functions with an `inout` parameter hold the mutex. `release(_:)` and
// `skip(_:)` complete what was taken out and are called with no mutex held.

extension HandlerQueue {
  private struct Released {
    var held: [(completion: Completion, node: WaitNode)] = []
    var passed: [(completion: Completion, node: WaitNode)] = []
    var probes: [(completion: Completion, node: WaitNode)] = []
  }

  private func release(_ released: Released) {
    for (completion, node) in released.held { reportHeld(completion, at: node) }
    for (completion, node) in released.passed { completion.arrive(node, nil) }
    for (completion, node) in released.probes { pass(completion, at: node) }
  }

  // MARK: Locks

  func refused(_ worker: Worker) -> ClaimRefusal {
    let call = worker.call
    var released = Released()
    // `resume()` takes the mutex after the flags change, so a call paused here because of flags
    // read under the mutex is sure to be resumed.
    let refusal = lane.mutex.withLock { () -> ClaimRefusal in
      let refusal = self.refusal(of: call)
      guard case .pause = refusal else { return refusal }
      for completion in call.detach() { released.held.append((completion, call.node)) }
      unsafe released.passed += call.barriers.map { ($0, call) }
      unsafe call.barriers = []
      if unsafe call.attempts == 0 { unsafe noteDequeued(-call.count) }
      if let key = unsafe call.key?.takeUnretainedValue() {
        key.worker.clear()
        unsafe detach(&key.parked, key, &released)  // only barriers may be left there
      }
      if unsafe !isPaused {
        unsafe isPaused = true
        _ = putBackReady()
        lane.removeFromOrder(self)
        unsafe debt = 0
        detachAll(&released)
        unsafe swap(&probes, &released.probes)
      }
      let place = unsafe held.firstIndex { unsafe $0.number > call.number } ?? held.endIndex
      unsafe held.insert(call, at: place)
      worker.leaveCall()
      return .pause
    }
    release(released)
    return refusal
  }

  private func refusal(of call: Call) -> ClaimRefusal {
    if unsafe call.attempts == 0 || record.has(HandlerFlags.removed) {
      return unsafe refusal(isEnding: phase != .active)
    }
    if call.isGivenUp { return .skip }
    // The first attempt uses up a once handler, but further attempts may still follow.
    let flags = record.state.load(ordering: .acquiring)
    if flags & HandlerFlags.lockedAtAll == 0 { return .retry }
    return unsafe flags & HandlerFlags.isHolding != 0 && phase == .active ? .pause : .skip
  }

  private func detachAll(_ released: inout Released) {
    unsafe detach(&inbox, self, &released)
    for key in keysInOrder { unsafe detach(&key.parked, key, &released) }
  }

  private func detach(_ queue: inout PayloadQueue<Item>, _ node: WaitNode, _ released: inout Released) {
    for i in 0..<queue.count {
      let item = queue[i]
      guard let completion = item.completion else { continue }
      if item.kind == .barrier {
        released.passed.append((completion, node))
        queue[i] = unsafe Item(nil, nil, .hole)
      } else {
        var waiters = DetachedWaiters()
        queue[i].completion = waiters.detach(completion)
        for held in waiters.calls { unsafe released.held.append((held, item.key?.takeUnretainedValue() ?? node)) }
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
        if !key.hasCalls { unsafe parkedKeys[ObjectIdentifier(key)] = nil }
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
    var timers: [Delay] = []
    let isPaused = lane.mutex.withLock { () -> Bool in
      openAll(&timers)
      if unsafe self.isPaused || phase == .closed { return true }
      unsafe inbox.append(Item(completion, nil, .barrier))
      unsafe followers += 1
      lane.addToOrder(self)
      return false
    }
    for timer in timers { timer.cancel() }
    if isPaused { pass(completion, at: self) } else { lane.wake() }
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

  /// If one of the running calls waits for the barrier, only that call is deferred.
  func pass(_ completion: Completion, at node: WaitNode) {
    typealias Begun = (call: Call, number: UInt64)
    let (begun, keys) = lane.mutex.withLock { () -> ([Begun], [KeyQueue]) in
      let onWorkers = unsafe lane.workers.filter { has($0) }.map { unsafe ($0.call, $0.call.number) as Begun }
      let others = unsafe away.map { unsafe ($0, $0.number) as Begun }
      return unsafe (onWorkers + others, isPaused ? [] : keysInOrder)
    }
    for (call, _) in begun { completion.expect(call) }
    for key in keys { completion.expect(key) }
    let late = lane.mutex.withLock { () -> [WaitNode] in
      var late: [WaitNode] = []
      for (call, number) in begun {
        if unsafe call.number == number, unsafe !isPaused || !held.contains(where: { $0 === call }) {
          unsafe call.barriers.append(completion)
        } else {
          late.append(call)
        }
      }
      for key in keys {
        if unsafe !isPaused, unsafe key.isActive || key.hasCalls {
          unsafe key.parked.append(Item(completion, nil, .barrier))
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
    var timers: [Delay] = []
    var dropped = Dropped()
    var released = Released()
    let (isIdle, ends) = lane.mutex.withLock { () -> (Bool, Bool) in
      unsafe phase = .ending
      // After the first attempt has used up a once handler, further attempts may follow.
      // Unregistering the handler calls `finish()`, which must not end the delays between them.
      if !record.has(HandlerFlags.spent) || record.has(HandlerFlags.removed) { unsafe endsDelays = true }
      openAll(&timers)
      if unsafe isPaused {
        removeWaiting(&dropped)
        unsafe dropped.calls += held
        if isTracked { unsafe running -= held.count }
        for call in unsafe held { free(call, &dropped) }
        unsafe held = []
        unsafe isPaused = false
      }
      let isIdle = unsafe inbox.isEmpty && running == 0 && (isTracked || lane.isQuiet)
      if isIdle {
        unsafe phase = .closed
        unsafe swap(&probes, &released.probes)
      }
      if !isIdle {
        unsafe inbox.append(Item(nil, nil, .end))
        unsafe followers += 1
        lane.addToOrder(self)
      }
      return unsafe (isIdle, endsDelays)
    }
    for timer in timers { timer.cancel() }
    skip(dropped)
    release(released)
    if ends { delays?.end() }
    if isIdle { close() } else { lane.wake() }
    return isIdle
  }

  /// Keeps sends and payloads from waiting for a call that hangs.
  func skipWaiting() {
    var dropped = Dropped()
    var timers: [Delay] = []
    let isOver = lane.mutex.withLock { () -> Bool in
      openAll(&timers)
      if mayEmptyReady() { _ = putBackReady() }
      removeWaiting(&dropped)
      // The other calls without a worker are between two attempts and make one last attempt.
      lane.removeUrgent { call in
        guard unsafe call.queue?.toOpaque() == Unmanaged.passUnretained(self).toOpaque(),
          unsafe call.attempts == 0 || call.rare.isLastAttempt
        else { return false }
        dropped.calls.append(call)
        return true
      }
      for call in dropped.calls {
        unsafe away.removeAll { $0 === call }
        if isTracked { unsafe running -= 1 }
        free(call, &dropped)
      }
      if lane.isShared {
        lane.removeFromOrder(self)
        unsafe debt = 0
        if unsafe followers > 0 { unsafe lane.addToOrder(self, followers) }
      }
      // If `dequeuesAll`, the worker that reaches the end closes the handler.
      guard !dequeuesAll, unsafe phase == .ended, unsafe running == 0, unsafe inbox.isEmpty else { return false }
      unsafe phase = .closed
      return true
    }
    for timer in timers { timer.cancel() }
    skip(dropped)
    keys?.sweep()  // the keys of the skipped items
    if isOver { closeLate() } else { lane.wake() }
  }

  private struct Dropped: ~Copyable {
    var queues: [DroppedQueue] = []
    var calls: [Call] = []
    var barriers: [(completion: Completion, node: WaitNode)] = []
  }

  private final class DroppedQueue {
    let node: WaitNode
    var queue: PayloadQueue<Item>
    init(_ node: WaitNode, _ layout: PayloadLayout) {
      self.node = node
      queue = PayloadQueue(layout)
    }
  }

  private func removeWaiting(_ dropped: inout Dropped) {
    let taken = DroppedQueue(self, layout)
    unsafe swap(&inbox, &taken.queue)
    unsafe followers = 0
    for i in 0..<taken.queue.count {
      let item = taken.queue[i]
      guard item.kind == .barrier || item.kind == .end else { continue }
      unsafe inbox.append(item)
      unsafe followers += 1
      taken.queue[i] = unsafe Item(nil, nil, .hole)
    }
    dropped.queues.append(taken)
    for key in keysInOrder {
      let taken = DroppedQueue(key, layout)
      unsafe running -= key.popAll(into: &taken.queue)
      for i in 0..<taken.queue.count where taken.queue[i].kind == .barrier {
        if unsafe key.isActive {
          unsafe key.parked.append(taken.queue[i])  // it waits for the key's running call
        } else if let completion = taken.queue[i].completion {
          dropped.barriers.append((completion, key))
        }
        taken.queue[i] = unsafe Item(nil, nil, .hole)
      }
      dropped.queues.append(taken)
    }
    if !dequeuesAll { unsafe waiting = 0 }
    unsafe (gathering, parkedKeys) = (0, [:])
  }

  private func free(_ call: Call, _ dropped: inout Dropped) {
    if unsafe entering == call.number { unsafe entering = 0 }
    unsafe call.number = 0
    guard let key = unsafe call.key?.takeUnretainedValue() else { return }
    unsafe key.isActive = false
    for i in unsafe 0..<key.parked.count where unsafe key.parked[i].kind == .barrier {
      if let completion = unsafe key.parked[i].completion { dropped.barriers.append((completion, key)) }
      unsafe key.parked[i] = Item(nil, nil, .hole)
    }
  }

  @inline(never) private func skip(_ dropped: consuming Dropped) {
    for call in dropped.calls {
      let barriers = lane.mutex.withLock { () -> [Completion] in
        unsafe call.key?._withUnsafeGuaranteedRef { unsafe $0.noteEnd(call.count) }
        defer { unsafe call.barriers = [] }
        return unsafe call.barriers
      }
      let error = unsafe call.isRare ? call.rare.lastError : nil
      conclude(call, error.map { failure($0, call, of: .refused) } ?? .skipped)
      for completion in barriers { completion.arrive(call, nil) }
    }
    for taken in dropped.queues {
      while !taken.queue.isEmpty {
        let item = taken.queue.takeFirst()
        guard item.isCall else { continue }
        taken.queue.destroyTaken()
        if let key = unsafe item.key { lane.mutex.withLock { unsafe key._withUnsafeGuaranteedRef { $0.noteEnd() } } }
        skip(item.completion, at: unsafe item.key?.takeUnretainedValue() ?? taken.node)
      }
    }
    for (completion, node) in dropped.barriers { completion.arrive(node, nil) }
  }
}

/// After the mutex is unlocked, observers are notified, and sends count these calls as held.
struct DetachedWaiters {
  private(set) var calls: [Completion] = []

  mutating func detach(_ completion: Completion?) -> Completion? {
    guard let completion, completion.isToBeTold else { return completion }
    calls.append(completion)
    return completion.withoutWaiting
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

  static func late(_ observed: ObservedOccurrence?) -> Completion? {
    let context = CarriedContext.current()
    return context != nil || observed != nil ? Completion(withoutWaiting: context, observed) : nil
  }
}
