import Synchronization

/// The past payloads that a new handler receives.
// Safe: `latest` is guarded by the core's lock; `past` and `spare` are touched only from inside, `past` under the lock, too, while it is `latest`.
@safe final class History: @unchecked Sendable {
  private let limit: Int
  private let layout: PayloadLayout
  /// Memory for two payloads: the one that was sent last, and the one before while it is being destroyed.
  private let memory: UnsafeMutableRawPointer
  /// Under the lock: whether there is a last one.
  @exclusivity(unchecked) private var hasLatest = false
  /// What was delivered, the oldest first, unless that is `latest`.
  @exclusivity(unchecked) private var past: PayloadQueue<Past>
  /// Inside: what was the past, until it is destroyed.
  @exclusivity(unchecked) private var outdated: PayloadQueue<Past>
  /// The last one was sent to an idle event, and no more than one is kept: it is `latest`, and `past` is empty. Changed from inside and under the lock.
  @exclusivity(unchecked) private var isPastLatest = false
  /// Of `latest`, if that is the past.
  @exclusivity(unchecked) private var latestSequence: UInt64 = 0

  struct Past: PayloadHeader, Sendable {
    let sequence: UInt64
    weak let sender: (any AnyObject & Sendable)?
  }

  /// Nil if there is nothing to keep.
  init?<Payload>(_ replay: Replay<Payload>) {
    switch replay.kind {
    case .none: return nil
    case .last(let count): limit = count
    case .current: limit = 1
    }
    layout = PayloadLayout(Payload.self)
    unsafe memory = layout.allocate(2)
    unsafe past = PayloadQueue(Payload.self)
    unsafe outdated = PayloadQueue(Payload.self)
    guard case .current(let value) = replay.kind else { return }
    unsafe hasLatest = true
    unsafe isPastLatest = true
    lend(value) { unsafe layout.copy($0, to: latest) }
  }

  deinit {
    if unsafe hasLatest { unsafe layout.destroy(latest) }
    unsafe memory.deallocate()
  }

  private var latest: UnsafeMutableRawPointer { unsafe memory }
  private var spare: UnsafeMutableRawPointer { unsafe memory + layout.stride }

  /// Under the lock: a copy of the last payload that was sent.
  func copyOfLatest() -> OwnedPayload? {
    unsafe hasLatest ? OwnedPayload(copying: BorrowedPayload(latest, layout.type), layout.type) : nil
  }

  /// Under the lock, for a payload that is queued.
  ///
  /// - Returns: the one before, for the caller to destroy after the lock.
  func replaceLatest(_ payload: BorrowedPayload) -> OwnedPayload? {
    saveLatest()
    let before = unsafe hasLatest ? OwnedPayload(moving: latest, layout) : nil
    unsafe layout.copy(payload, to: latest)
    unsafe hasLatest = true
    return before
  }

  /// Under the lock: what was delivered last is in `past` from now on.
  func saveLatest() {
    guard unsafe isPastLatest else { return }
    unsafe past.append(Past(sequence: latestSequence, sender: nil), BorrowedPayload(latest, layout.type))
    unsafe isPastLatest = false
  }

  /// Inside, and under the lock, for a payload that is delivered next. ``destroyReplaced(_:)`` follows, not under the lock.
  ///
  /// - Returns: whether there was one before.
  func replaceLatestNow(_ payload: BorrowedPayload, _ sequence: UInt64) -> Bool {
    let wasThere = unsafe hasLatest
    if wasThere, !layout.isTrivial { unsafe layout.move(from: latest, to: spare) }
    unsafe layout.copy(payload, to: latest)
    unsafe hasLatest = true
    if limit == 1 {
      if unsafe !past.isEmpty { unsafe swap(&past, &outdated) }
      unsafe isPastLatest = true
      unsafe latestSequence = sequence
    }
    return wasThere
  }

  /// Inside: ends the replacement of the last payload.
  func destroyReplaced(_ wasThere: Bool, _ payload: BorrowedPayload, _ sequence: UInt64) {
    if wasThere { unsafe layout.destroy(spare) }
    if limit > 1 { note(payload, sequence, from: nil) }
    while unsafe !outdated.isEmpty {
      _ = unsafe outdated.takeFirst()
      unsafe outdated.destroyTaken()
    }
  }

  /// Inside: notes a queued occurrence whose delivery begins.
  func note(_ payload: BorrowedPayload, _ sequence: UInt64, from sender: (any AnyObject & Sendable)?) {
    unsafe past.append(Past(sequence: sequence, sender: sender), payload)
    guard unsafe past.count > limit else { return }
    _ = unsafe past.takeFirst()
    unsafe past.destroyTaken()
  }

  /// Inside: what a new handler is told, which stays, whatever a handler sends meanwhile.
  func copyOfPast(_ mutex: borrowing UnfairMutex) -> PayloadQueue<Past> {
    mutex.withLock { saveLatest() }
    return unsafe past.copy()
  }
}

extension EventCore {
  /// Before anybody else knows the event: from now on no thread enters by ``EventCore/enter()``, because under the lock of the queue `latest` changes, too.
  func keep(_ history: History) {
    _ = pendingWork.historyReference.set(history)
    mustEnqueue = true
    stateWord.store(CoreState.mustEnqueue, ordering: .relaxed)
  }

  /// Delivers a post to an idle event with a history at once, as far as that goes; false if the event is not idle.
  func postWithReplay(_ payload: BorrowedPayload) -> Bool {
    let own = Thread.current | CoreState.busy
    guard stateWord.compareExchange(expected: CoreState.mustEnqueue, desired: own, ordering: .acquiring).exchanged
    else {
      return false
    }
    var replaced: Bool?
    let pendingWork = unsafe pendingWorkReference.lend().unsafelyUnwrapped
    unsafe pendingWork._withUnsafeGuaranteedRef { pendingWork in
      guard let history = unsafe pendingWork.historyReference.lend() else { return }
      unsafe history._withUnsafeGuaranteedRef { history in
        mutex.lock()
        let isPlain =
          unsafe pendingWork.mailbox.items.isEmpty && pendingWork.unheardReference.lend() == nil
          && withIdentity { unsafe $0.observers == nil }
        if isPlain { replaced = unsafe history.replaceLatestNow(payload, sequence &+ 1) }
        mutex.unlock()
        if let replaced { unsafe history.destroyReplaced(replaced, payload, sequence &+ 1) }
      }
    }
    if replaced == nil {
      enqueue(payload, nil)  // another thread was faster, or somebody observes the event: in its turn
    } else if let cursor = unsafe deliver(payload, isPost: true) {
      postSlowPath(payload, from: cursor, sender: nil)
    }
    syncPoint(.leaving)
    if !stateWord.compareExchange(expected: own, desired: idle, ordering: .releasing).exchanged {
      drain(own & ~CoreState.flags)
    }
    return true
  }

  /// Inside: tells a handler that has just joined what was sent before.
  func replay(_ history: History, to record: HandlerRecord) {
    var past = history.copyOfPast(mutex)
    while !past.isEmpty {
      let item = past.takeFirst()
      if unsafe record.index >= 0, !record.has(HandlerFlags.ended) {
        deliver(past.taken, to: record, sequence: item.sequence, from: item.sender)
      }
      past.destroyTaken()
    }
  }
}
