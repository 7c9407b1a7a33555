import Synchronization

/// The past payloads that a new handler receives.
// Safe: each field says what guards it.
@safe final class ReplayHistory: @unchecked Sendable {
  /// The number of payloads to replay.
  private let limit: Int
  private let layout: PayloadLayout
  /// Memory for two payloads: `latest`, and `spare` for the replaced one until it is destroyed.
  private let memory: UnsafeMutableRawPointer
  /// Whether `latest` holds a payload. Guarded by: core.mutex.
  @exclusivity(unchecked) private var hasLatest = false
  /// The delivered payloads to replay, the oldest first. Empty while `isPastLatest` is true, that
  /// is, while only `latest` is replayed. A thread outside the core may end that state: in one
  /// critical section of `core.mutex`, it copies `latest` into this queue, and sets `isPastLatest`
  /// to false. Isolation: core.
  @exclusivity(unchecked) private var past: PayloadQueue<Past>
  /// The former content of `past`, until it is destroyed. Isolation: core.
  @exclusivity(unchecked) private var outdated: PayloadQueue<Past>
  /// Whether new handlers receive `latest`, and not the payloads in the queue `past`, which is
  /// empty then. True only in a history that keeps one payload: after a post to an idle event, and
  /// for the first value of ``EventReplay/current(_:)``. While the flag is false, new handlers
  /// receive what is in `past`: the occurrence of `latest` may still be in the mailbox. Guarded by:
  /// core.mutex.
  @exclusivity(unchecked) private var isPastLatest = false
  /// The sequence number of the occurrence that sent `latest`. Used only while `isPastLatest` is
  /// true, that is, while new handlers receive `latest`. Guarded by: core.mutex.
  @exclusivity(unchecked) private var latestSequence: UInt64 = 0

  /// Whether an interceptor or the failure policy may stop an occurrence, or change its payload.
  /// Then each occurrence is enqueued: only after its delivery is known what will be replayed.
  /// Isolation: core.
  @exclusivity(unchecked) var mayChange = false

  /// An occurrence to replay. Its payload lies beside it.
  struct Past: PayloadHeader, Sendable {
    let sequence: UInt64
    weak let sender: (any AnyObject & Sendable)?
  }

  /// Creates a history; `nil` if no payloads are replayed.
  init?<Payload>(_ replay: EventReplay<Payload>) {
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
    unsafe PayloadLayout.deallocate(memory)
  }

  /// The payload that was sent last, if there is one. Guarded by: core.mutex.
  private var latest: UnsafeMutableRawPointer { unsafe memory }
  /// The place of the payload that `replaceLatestNow` has moved out of `latest`, until
  /// `destroyReplaced` destroys the payload. Isolation: core.
  private var spare: UnsafeMutableRawPointer { unsafe memory + layout.stride }

  /// Returns a copy of the payload that was sent last. The caller holds `core.mutex`.
  func copyOfLatest() -> OwnedPayload? {
    unsafe hasLatest ? OwnedPayload(copying: BorrowedPayload(latest, layout.type), layout.type) : nil
  }

  /// Replaces `latest` by a payload that is being enqueued. The caller holds `core.mutex`.
  ///
  /// - Returns: The replaced payload, which the caller destroys after it has released the mutex.
  func replaceLatest(_ payload: BorrowedPayload) -> OwnedPayload? {
    saveLatest()
    let before = unsafe hasLatest ? OwnedPayload(moving: latest, layout) : nil
    unsafe layout.copy(payload, to: latest)
    unsafe hasLatest = true
    return before
  }

  /// Copies `latest` to `past` if only `latest` has the payload to replay (`isPastLatest`). Called
  /// before another payload replaces `latest`, and before `past` is read. The caller holds
  /// `core.mutex`.
  func saveLatest() {
    guard unsafe isPastLatest else { return }
    unsafe past.append(Past(sequence: latestSequence, sender: nil), BorrowedPayload(latest, layout.type))
    unsafe isPastLatest = false
  }

  /// Replaces `latest` by a payload that is delivered next. The caller holds `core.mutex`, and
  /// calls `destroyReplaced` after it has released the mutex. Isolation: core.
  ///
  /// - Returns: Whether a payload was replaced.
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

  /// Destroys the payload that `replaceLatestNow` replaced. Adds the new payload to `past` if the
  /// history keeps several payloads. Never called under the mutex. Isolation: core.
  func destroyReplaced(_ wasThere: Bool, _ payload: BorrowedPayload, _ sequence: UInt64) {
    if wasThere { unsafe layout.destroy(spare) }
    if limit > 1 { note(payload, sequence, from: nil) }
    while unsafe !outdated.isEmpty {
      _ = unsafe outdated.takeFirst()
      unsafe outdated.destroyTaken()
    }
  }

  /// Appends a payload that nothing stops, or has stopped, and drops the oldest one beyond the
  /// limit. Isolation: core.
  func note(_ payload: BorrowedPayload, _ sequence: UInt64, from sender: (any AnyObject & Sendable)?) {
    unsafe past.append(Past(sequence: sequence, sender: sender), payload)
    guard unsafe past.count > limit else { return }
    _ = unsafe past.takeFirst()
    unsafe past.destroyTaken()
  }

  /// Returns a copy of the payloads to replay. Later sends do not change the copy. Isolation: core.
  func copyOfPast(_ mutex: borrowing UnfairMutex) -> PayloadQueue<Past> {
    mutex.withLock { saveLatest() }
    return unsafe past.copy()
  }
}

extension EventCore {
  /// Installs a history, before another thread can reach the event.
  ///
  /// With a history, each post and send must also replace `latest`, under `mutex`.
  /// ``EventCore/enter()`` locks no mutex. So it fails from now on, for each thread, even if the
  /// event is idle. A post to an idle event may enter by ``EventCore/postWithReplay(_:)`` instead.
  /// All other work is enqueued.
  func keep(_ history: ReplayHistory) {
    _ = pendingWork.historyReference.set(history)
    mustEnqueue = true
    stateWord.store(CoreState.mustEnqueue, ordering: .relaxed)
  }

  /// Delivers a post to an idle event with a history, without enqueueing it if possible.
  ///
  /// - Returns: `false` if the event is not idle; then nothing has been done.
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
          unsafe pendingWork.mailbox.items.isEmpty && pendingWork.unhandledReference.lend() == nil && !history.mayChange
          && withAnchor { unsafe $0.observers == nil }
        if isPlain { replaced = history.replaceLatestNow(payload, sequence &+ 1) }
        mutex.unlock()
        if let replaced { history.destroyReplaced(replaced, payload, sequence &+ 1) }
      }
    }
    if replaced == nil {
      enqueue(payload, nil)  // work is enqueued, the event or its `unhandled` is observed, or it may stop
    } else if let cursor = unsafe deliver(payload, isPost: true) {
      postSlowPath(payload, from: cursor, sender: nil)
    }
    syncPoint(.leaving)
    if !stateWord.compareExchange(expected: own, desired: idle, ordering: .releasing).exchanged {
      leaveWithWork(own & ~CoreState.flags)
    }
    return true
  }

  /// Notes a payload that has been delivered, if the event has a history. Isolation: core.
  func note(_ payload: BorrowedPayload, from sender: @autoclosure () -> (any AnyObject & Sendable)?) {
    let history = unsafe pendingWorkReference.lend()?._withUnsafeGuaranteedRef { unsafe $0.historyReference.lend() }
    unsafe history?._withUnsafeGuaranteedRef { $0.note(payload, sequence, from: sender()) }
  }

  /// Delivers the past payloads to a handler that has just been added. Isolation: core.
  func replay(_ history: ReplayHistory, to record: HandlerRecord) {
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
