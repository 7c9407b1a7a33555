// A batch takes the payloads that are waiting. With a time to gather, payloads at the end of the
// queue aren't open until the time is up or there are enough for a batch. With keys, each key's
// payloads wait in the key's queue, and an item for the key waits in the handler's queue.
//
// Unless a function says otherwise, its caller holds the mutex.

extension LaneQueue {
  private var largestBatch: Int { (modifiers.batch?.count ?? 1) + (mutant(.batchIsTooLarge) ? 1 : 0) }

  func gather(
    _ item: LaneItem, _ payload: BorrowedPayload, _ batch: BatchRule, _ key: KeyQueue?,
    _ after: inout HandlerLane.After
  ) {
    // A full lane has no room for more payloads, so its batches must not wait for more.
    let isFull = unsafe buffering.isBounded && buffering.isFull(waiting: waiting)
    let begins = unsafe batchQueue == nil || phase != .active || isFull
    guard let key else {
      unsafe inbox.append(item, payload)
      unsafe gathering += 1
      if unsafe begins || gathering >= batch.count { openBatch(&after) }
      if unsafe gathering == 1 { after.add { $0.gathering = (self, nil) } }
      return
    }
    unsafe key.parked.append(item, payload)
    noteParked(key)
    if isFull { openAll(&after) }
    if begins || key.waitingCount >= batch.count { openBatch(key, &after) }
    if unsafe !key.isOpen, key.waitingCount == 1 { after.add { $0.gathering = (self, key) } }
  }

  private func openBatch(_ after: inout HandlerLane.After) {
    if unsafe gathering > 0, unsafe !isPaused { unsafe lane.addToOrder(self, gathering) }
    unsafe gathering = 0
    unsafe after.cancel(gatherTimer.take())
  }

  private func openBatch(_ key: KeyQueue, _ after: inout HandlerLane.After) {
    guard unsafe !key.isOpen, key.hasCalls else { return }
    unsafe key.isOpen = true
    unsafe after.cancel(key.timer.take())
    if unsafe !key.isActive, unsafe !key.isQueued, unsafe !isPaused {
      enqueue(key)
      lane.addToOrder(self)
    }
  }

  func enqueue(_ key: KeyQueue) {
    unsafe inbox.append(LaneItem(nil, .passUnretained(key), .key))
    unsafe key.isQueued = true
    unsafe followers += 1
  }

  func openAll(_ after: inout HandlerLane.After) {
    guard modifiers.batch != nil else { return }
    openBatch(&after)
    for key in keysInOrder { openBatch(key, &after) }
  }

  /// Never called under the mutex.
  func startTimer(_ key: KeyQueue?) {
    guard let queue = batchQueue, let within = modifiers.batch?.within else { return }
    let timer = Delay(queue, delaying: [key ?? self]) { self.gatherEnded(key) }
    let isNeeded = lane.mutex.withLock { () -> Bool in
      if let key {
        guard unsafe !key.isOpen, key.hasCalls, unsafe key.timer == nil else { return false }
        unsafe key.timer = timer
      } else {
        guard unsafe gathering > 0, unsafe gatherTimer == nil else { return false }
        unsafe gatherTimer = timer
      }
      return true
    }
    if isNeeded { timer.start(after: within) }
  }

  /// Never called under the mutex.
  private func gatherEnded(_ key: KeyQueue?) {
    var after = HandlerLane.After()
    lane.mutex.withLock {
      // If the stored timer is still waiting, it belongs to a later batch, and this one fired too
      // late.
      if unsafe (key.map { unsafe $0.timer } ?? gatherTimer)?.isWaiting == true { return }
      guard let key else { return openBatch(&after) }
      openBatch(key, &after)
      // All gathered payloads may have been dropped, and the key must not keep the timer.
      unsafe after.cancel(key.timer.take())
    }
    after.run(lane, nil)
    lane.wake()
  }

  func assignBatch(_ batch: BatchRule, _ worker: Worker, _ after: inout HandlerLane.After) -> HandlerLane.Found {
    var number = unsafe min(largestBatch, inbox.count)
    if unsafe followers > 0 { number = (0..<number).first { unsafe !inbox[$0].isCall } ?? number }
    let opened = unsafe inbox.count - followers - gathering
    if number > opened {
      // The batch has room, so it also takes payloads that are still gathering.
      unsafe gathering -= number - opened
      if unsafe gathering == 0 { unsafe after.cancel(gatherTimer.take()) }
    }
    if lane.isShared { unsafe debt += min(number, opened) - 1 }
    noteDequeued(number)
    worker.withCall { unsafe $0.beginBatch(number, of: &inbox, nil, layout) }
    return begun(worker, true, &after)
  }

  func assignBatch(_ batch: BatchRule, of key: KeyQueue, _ worker: Worker, _ after: inout HandlerLane.After)
    -> HandlerLane.Found
  {
    key.popFollowers(&after)
    unsafe after.cancel(key.timer.take())
    // During a pause, the payloads stay open, and the end of the pause enqueues the key.
    unsafe (key.isActive, key.isOpen) = unsafe (false, isPaused && key.hasCalls)
    guard key.hasCalls, unsafe !isPaused else { return .follower }
    worker.withCall { $0.reserve(for: self) }
    unsafe key.isActive = true
    worker.withCall { call in
      key.beginBatch(largestBatch, call)
      unsafe noteDequeued(call.count)
      unsafe running -= call.count
    }
    if !key.hasCalls {
      unsafe parkedKeys[ObjectIdentifier(key)] = nil
    } else if unsafe batchQueue == nil || key.waitingCount >= batch.count || phase != .active || key.hasBarrier {
      unsafe key.isOpen = true
    } else {
      after.add { $0.gathering = (self, key) }
    }
    return begun(worker, true, &after)
  }
}
