import Synchronization

// Dequeueing for a worker. Unless a function says otherwise, its caller holds the mutex.

extension LaneQueue {
  func assign(_ count: Int, _ worker: Worker, _ after: inout HandlerLane.After) -> HandlerLane.Found {
    defer { if openCount <= 0 { passProbes(&after) } }
    worker.withCall { $0.reserve(for: self) }
    if unsafe inbox.isEmpty || isPaused { return .nothing }
    if dequeuesAll { return makeReady(count, worker) }
    if let batch = modifiers.batch, unsafe inbox.first.isCall { return assignBatch(batch, worker, &after) }
    guard unsafe inbox.first.isCall else { return reach(unsafe inbox.takeFirst(), worker, &after) }
    let item = worker.withCall { unsafe inbox.takeFirst(to: $0.place) }
    unsafe inbox.recycle()
    if let key = unsafe item.key {
      let isParked = unsafe key._withUnsafeGuaranteedRef { key in worker.withCall { unsafe park(item, $0.place, key) } }
      if isParked { return .nothing }
    }
    noteDequeued(1)
    worker.withCall { $0.begin(item) }
    return begun(worker, item.completion != nil, &after)
  }

  // MARK: All that waits, at once

  /// The whole queue moves in one step, but part of it moves item by item, so the worker takes no
  /// more items than it may call; it would have to put the rest back.
  func dequeueCount(of count: Int, _ most: Int) -> Int {
    if !dequeuesAll { return 1 }
    return unsafe count >= inbox.count ? count : min(count, most)
  }

  private func makeReady(_ count: Int, _ worker: Worker) -> HandlerLane.Found {
    if unsafe count >= inbox.count {
      unsafe swap(&inbox, &ready)
    } else {
      countMoves(count)
      unsafe inbox.moveFirst(count, to: &ready)
    }
    if mutant(.laneIsReversed), unsafe (0..<ready.count).allSatisfy({ unsafe ready[$0].isCall }) {
      unsafe ready.reverse()
    }
    unsafe worker.ready = .passUnretained(self)
    return .ready
  }

  /// Called by the worker without the mutex.
  @inline(__always) func dequeueReady(_ worker: Worker) -> Bool {
    while unsafe !ready.isEmpty {
      let item = unsafe ready.takeFirst()
      guard item.isCall else {
        if reachReady(item) { return false }  // the handler may have been released
        continue
      }
      worker.withCall { call in
        unsafe ready.moveTaken(to: call.place)
        call.begin(item)
      }
      return true
    }
    unsafe ready.recycle()
    return false
  }

  /// Called without the mutex.
  @inline(never) private func reachReady(_ item: LaneItem) -> Bool {
    if let completion = item.completion { completion.arrive(self, nil) }
    var after = HandlerLane.After()
    let mayBeOver = lane.mutex.withLock { () -> Bool in
      if item.kind == .end { unsafe phase = .ended }
      guard unsafe phase == .ended, unsafe ready.isEmpty else { return false }
      settle(&after)
      return true
    }
    after.run(lane, nil)
    return mayBeOver
  }

  func putBackReady() -> Int {
    let count = unsafe ready.count
    guard count > 0 else { return 0 }
    // Moves only items that came later, so each item is moved at most once.
    unsafe countMoves(inbox.count)
    unsafe inbox.moveFirst(inbox.count, to: &ready)
    unsafe inbox.recycle()
    unsafe swap(&inbox, &ready)
    return count
  }

  private func countMoves(_ count: Int) {
    #if DEBUG
      unsafe moves += count
    #endif
  }

  /// Returns whether a call of the handler is running. If so, its worker doesn't touch ``ready``,
  /// because the flag makes it wait for the mutex when it counts the end of the call. Otherwise,
  /// the worker is about to claim a call. If the claim is refused, the worker itself skips the
  /// items in ``ready``; if it succeeds, the remaining items are skipped after the call. While a
  /// call is in ``away``, ``ready`` is empty.
  func mayEmptyReady() -> Bool {
    guard dequeuesAll, unsafe away.isEmpty else { return false }
    let before = ended.bitwiseOr(.min, ordering: .acquiringAndReleasing).oldValue & .max
    if calls.load(ordering: .acquiring) > before { return true }
    clearEmptyingFlag()
    return false
  }

  func clearEmptyingFlag() { ended.bitwiseAnd(.max, ordering: .acquiringAndReleasing) }

  // MARK: Calls in order by key

  private func park(_ item: LaneItem, _ payload: UnsafeMutableRawPointer, _ key: KeyQueue) -> Bool {
    guard unsafe key.isActive, !mutant(.keysOverlap) else {
      unsafe key.isActive = true
      return false
    }
    unsafe key.parked.append(item, moving: payload)
    noteParked(key)
    return true
  }

  func noteParked(_ key: KeyQueue) {
    unsafe running &+= 1
    unsafe lastNumber &+= 1
    unsafe key.numbers.append(lastNumber)
    unsafe parkedKeys[ObjectIdentifier(key)] = key
  }

  @inline(__always) func begun(_ worker: Worker, _ hasCompletion: Bool, _ after: inout HandlerLane.After)
    -> HandlerLane.Found
  {
    guard isTracked else { return .call }
    unsafe running &+= 1
    unsafe lastNumber &+= 1
    unsafe worker.owesEnd = true
    worker.withCall { call in
      unsafe call.number = unsafe lastNumber
      unsafe call.key?._withUnsafeGuaranteedRef { $0.worker.set(worker) }
    }
    after.moves = hasCompletion
    if modifiers.isRestarting { unsafe current = worker.call }
    if isPipeline { unsafe entering = unsafe lastNumber }
    return .call
  }

  func assignParked(_ key: KeyQueue, _ worker: Worker, _ after: inout HandlerLane.After) -> Bool {
    if let batch = modifiers.batch {
      // Gathering payloads wait until their time is up or there are more of them.
      if unsafe key.isOpen || phase != .active, assignBatch(batch, of: key, worker, &after) == .call { return true }
      unsafe key.isActive = false
      settle(&after)
      return false
    }
    key.popFollowers(&after)
    worker.withCall { $0.reserve(for: self) }
    guard unsafe !isPaused, let item = worker.withCall({ unsafe key.popCall(to: $0.place) }) else {
      unsafe key.isActive = false  // the end of the lock lets the first call of the key begin
      settle(&after)
      return false
    }
    noteDequeued(1)
    unsafe running &-= 1
    worker.withCall { $0.begin(item) }
    return begun(worker, item.completion != nil, &after) == .call
  }

  private func reach(_ item: LaneItem, _ worker: Worker, _ after: inout HandlerLane.After) -> HandlerLane.Found {
    unsafe followers -= 1
    unsafe inbox.recycle()
    switch item.kind {
    case .barrier:
      guard let completion = item.completion else { break }
      after.add {
        if isTracked { $0.reached.append((completion, self, self)) } else { $0.passed.append((completion, self)) }
      }
    case .end: unsafe phase = .ended
    case .key:
      if let key = unsafe item.key, let batch = modifiers.batch {
        return unsafe key._withUnsafeGuaranteedRef { key in
          unsafe key.isQueued = false
          return assignBatch(batch, of: key, worker, &after)
        }
      }
    case .call, .hole: break
    }
    settle(&after)
    return .follower
  }

  func settle(_ after: inout HandlerLane.After) {
    guard unsafe running == 0, unsafe inbox.isEmpty else { return }
    if unsafe phase == .ended {
      unsafe phase = .closed
      after.add { $0.over.append(self) }
    }
    if let keys, keys.count > LaneKeys.leastLimit { after.add { $0.idle.append(self) } }
  }

  func noteAdopted(_ call: Call) {
    unsafe away.removeAll { $0 === call }
    if modifiers.isRestarting { unsafe current = call }
  }

  func noteEnd(of call: Call, on worker: Worker, _ after: inout HandlerLane.After) {
    if isPipeline, unsafe entering == call.number { unsafe entering = 0 }
    unsafe call.number = 0
    unsafe running &-= 1
    if let key = unsafe call.key {
      unsafe call.key = nil
      unsafe key._withUnsafeGuaranteedRef { unsafe release($0, worker, call.count, &after) }
    }
    if modifiers.isRestarting { unsafe call.isReplaced = false }
    settle(&after)
  }

  private func release(_ key: KeyQueue, _ worker: Worker, _ count: Int, _ after: inout HandlerLane.After) {
    key.noteEnd(count)
    key.worker.clear()
    key.popFollowers(&after)
    if unsafe key.parked.isEmpty {
      unsafe (key.isActive, key.isOpen) = (false, false)
    } else {
      unsafe worker.released = .passUnretained(key)
    }
  }

  // MARK: Pipelines

  func openEntrance(of number: UInt64) {
    lane.mutex.withLock { if unsafe entering == number { unsafe entering = 0 } }
    lane.wake()
  }
}
