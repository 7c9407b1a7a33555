import Synchronization

// Safe: each field says what guards it.
@safe final class ReplayHistory: @unchecked Sendable {
  private let limit: Int
  private let layout: PayloadLayout
  private let memory: UnsafeMutableRawPointer
  // Guarded by: core.mutex.
  @exclusivity(unchecked) private var hasLatest = false
  /// Empty while `isPastLatest` is true. A thread outside may copy `latest` here, under
  /// `core.mutex`. Isolation: core.
  @exclusivity(unchecked) private var past: PayloadQueue<Past>
  // Isolation: core.
  @exclusivity(unchecked) private var outdated: PayloadQueue<Past>
  /// Whether `latest` is the whole history and `past` is empty. True only with a limit of one, and
  /// never while the occurrence of `latest` is in the mailbox. Guarded by: core.mutex.
  @exclusivity(unchecked) private var isPastLatest = false
  // Guarded by: core.mutex.
  @exclusivity(unchecked) private var latestSequence: UInt64 = 0

  /// Whether handlers may change what will be replayed. Every post is then enqueued.
  /// Isolation: core.
  @exclusivity(unchecked) var mayChange = false

  struct Past: PayloadHeader, Sendable {
    let sequence: UInt64
    weak let sender: (any AnyObject & Sendable)?
  }

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

  // Guarded by: core.mutex.
  private var latest: UnsafeMutableRawPointer { unsafe memory }
  // Isolation: core.
  private var spare: UnsafeMutableRawPointer { unsafe memory + layout.stride }

  /// The caller holds `core.mutex`.
  func copyOfLatest() -> OwnedPayload? {
    unsafe hasLatest ? OwnedPayload(copying: BorrowedPayload(latest, layout.type), layout) : nil
  }

  /// The caller holds `core.mutex` and destroys the returned payload after unlocking.
  func replaceLatest(_ payload: BorrowedPayload) -> OwnedPayload? {
    saveLatest()
    let before = unsafe hasLatest ? OwnedPayload(moving: latest, layout) : nil
    unsafe layout.copy(payload, to: latest)
    unsafe hasLatest = true
    return before
  }

  /// The caller holds `core.mutex`.
  func saveLatest() {
    guard unsafe isPastLatest else { return }
    unsafe past.append(Past(sequence: latestSequence, sender: nil), BorrowedPayload(latest, layout.type))
    unsafe isPastLatest = false
  }

  /// The caller holds `core.mutex` and calls `destroyReplaced` after unlocking. Isolation: core.
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

  /// Never called under the mutex. Isolation: core.
  func destroyReplaced(_ wasThere: Bool, _ payload: BorrowedPayload, _ sequence: UInt64) {
    if wasThere { unsafe layout.destroy(spare) }
    if limit > 1 { note(payload, sequence, from: nil) }
    while unsafe !outdated.isEmpty {
      _ = unsafe outdated.takeFirst()
      unsafe outdated.destroyTaken()
    }
  }

  // Isolation of the next two functions: core.
  func note(_ payload: BorrowedPayload, _ sequence: UInt64, from sender: (any AnyObject & Sendable)?) {
    unsafe past.append(Past(sequence: sequence, sender: sender), payload)
    guard unsafe past.count > limit else { return }
    _ = unsafe past.takeFirst()
    unsafe past.destroyTaken()
  }

  func copyOfPast(_ mutex: borrowing UnfairMutex) -> PayloadQueue<Past> {
    mutex.withLock { saveLatest() }
    return unsafe past.copy()
  }
}

extension EventCore {
  /// Each post and send must now replace `latest` under `mutex`, so ``EventCore/enter()`` fails.
  func keep(_ history: ReplayHistory) {
    _ = rareState.historyReference.set(history)
    mustEnqueue = true
    stateWord.store(CoreState.mustEnqueue, ordering: .relaxed)
  }

  func postWithReplay(_ payload: BorrowedPayload) -> Bool {
    let own = Thread.current | CoreState.busy
    guard stateWord.compareExchange(expected: CoreState.mustEnqueue, desired: own, ordering: .acquiring).exchanged
    else {
      return false
    }
    var replaced: Bool?
    let rareState = unsafe rareStateReference.lend().unsafelyUnwrapped
    unsafe rareState._withUnsafeGuaranteedRef { rareState in
      guard let history = unsafe rareState.historyReference.lend() else { return }
      unsafe history._withUnsafeGuaranteedRef { history in
        mutex.lock()
        let isPlain =
          unsafe rareState.mailbox.items.isEmpty && rareState.unhandledReference.lend() == nil && !history.mayChange
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

  // Isolation: core.
  func note(_ payload: BorrowedPayload, from sender: @autoclosure () -> (any AnyObject & Sendable)?) {
    let history = unsafe rareStateReference.lend()?._withUnsafeGuaranteedRef { unsafe $0.historyReference.lend() }
    unsafe history?._withUnsafeGuaranteedRef { $0.note(payload, sequence, from: sender()) }
  }

  // Isolation: core.
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

/// The past payloads that a new handler receives.
///
/// A new handler receives the past payloads once, on its own delivery, before any occurrence sent
/// after it was added. It misses no payload in between and receives none twice. The past payloads
/// have the sequence numbers of their occurrences. The first call uses up a once handler. A lock
/// skips or holds past payloads. No ``SendReport`` counts them. A payload that an interceptor or a
/// failure has stopped isn't repeated.
public struct EventReplay<Payload: Sendable>: Sendable {
  enum Kind: Sendable { case none, last(Int), current(Payload) }
  let kind: Kind

  /// No payloads.
  public static var none: EventReplay { EventReplay(kind: .none) }

  /// The last `count` payloads, or fewer if fewer were sent. A count below 0 counts as 0.
  public static func last(_ count: Int) -> EventReplay { EventReplay(kind: .last(max(0, count))) }

  /// The last payload, or `value` before the first send.
  public static func current(_ value: Payload) -> EventReplay { EventReplay(kind: .current(value)) }
}

extension Event {
  /// The payload that was sent last, even if it's still queued or was stopped.
  ///
  /// Before the first send, this is the value of ``EventReplay/current(_:)``, if any, or `nil`.
  /// It's always `nil` for an event without replay. Callable from any thread and inside any
  /// handler.
  ///
  /// - Complexity: O(1).
  public nonisolated var latest: Payload? {
    guard let history = core.rareStateReference.load()?.history else { return nil }
    guard let latest = core.mutex.withLock({ history.copyOfLatest() }) else { return nil }
    return latest.borrowed.payload(Payload.self)
  }
}
