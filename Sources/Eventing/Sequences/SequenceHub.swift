import Synchronization

/// Until an iterator takes a payload, there is one more buffer, the origin. New iterators copy it
/// to see every payload since the sequence was created. The first take ends it, because it would
/// otherwise keep every payload. If the last iterator leaves early, its buffer becomes the origin.
// Safe: each field says what guards it.
@safe @usableFromInline final class SequenceHub: @unchecked Sendable {
  let buffering: Buffering
  let isBounded: Bool
  let mutex = UnfairMutex()

  // Guarded by: mutex.
  @exclusivity(unchecked) var origin: IteratorBuffer?
  // Guarded by: mutex.
  @exclusivity(unchecked) var buffers: [IteratorBuffer] = []
  /// Not retained. Guarded by: mutex.
  @exclusivity(unchecked) var only: Unmanaged<IteratorBuffer>?
  // Guarded by: mutex.
  @exclusivity(unchecked) var token: HandlerToken?
  // Guarded by: mutex.
  @exclusivity(unchecked) var isHeld = true
  // Guarded by: mutex.
  @exclusivity(unchecked) var isEnded = false
  // Isolation: core.
  @exclusivity(unchecked) private var dropped: PayloadQueue<PayloadAlone>
  /// Whether a full buffer drops even the payload of a `send`. Set before the handler is added.
  @exclusivity(unchecked) var neverSuspends = false
  /// Set before the first iterator is created.
  let recordReference = OnceReference<HandlerRecord>()

  /// Set before the handler is added.
  @exclusivity(unchecked) private var content: (type: PayloadType, batch: BatchRule?)
  var type: PayloadType { unsafe content.type }
  var batch: BatchRule? { unsafe content.batch }

  init(_ buffering: Buffering, _ type: PayloadType) {
    unsafe content = (type, nil)
    self.buffering = buffering
    isBounded = buffering.isBounded
    unsafe dropped = PayloadQueue(type)
    unsafe origin = IteratorBuffer(buffering, type)
    noteOnly()
  }

  /// Called before the handler is added.
  func gather(by rule: BatchRule, of type: PayloadType) {
    unsafe content = (type, rule)
    unsafe dropped = PayloadQueue(type)
    unsafe origin = IteratorBuffer(buffering, type)
    noteOnly()
  }

  // MARK: Under the mutex. The caller holds `mutex`

  /// Called after a change of `buffers` or `origin`.
  func noteOnly() {
    let one = unsafe origin == nil && buffers.count == 1 ? buffers[0] : buffers.isEmpty ? origin : nil
    unsafe only = unsafe one.map { unsafe .passUnretained($0) }
  }

  @inline(never) func forEachBuffer(_ body: (IteratorBuffer) -> Void) {
    for buffer in unsafe buffers { body(buffer) }
    if let origin = unsafe origin { body(origin) }
  }

  func remove(_ buffer: IteratorBuffer) {
    guard let index = unsafe buffer.index else { return }
    unsafe buffer.index = nil
    unsafe buffers.swapAt(index, buffers.count - 1)
    unsafe buffers.removeLast()
    if unsafe index < buffers.count { unsafe buffers[index].index = index }
  }

  var waitingCount: Int {
    var most = 0
    mutex.withLock { forEachBuffer { buffer in most = unsafe max(most, buffer.items.count + buffer.bounded.count) } }
    return most
  }

  func listen<Payload: Sendable>(to source: some EventSource<Payload>, named name: String? = nil) {
    var handler = Handler<Payload>(.sequence(buffering), .sequence(self))
    handler.options.name = name
    let token = source.add(handler)
    mutex.withLock { unsafe self.token = unsafe isEnded ? nil : token }
  }

  // MARK: For the event, inside its core

  // Isolation: core.
  func give(_ payload: BorrowedPayload, _ mark: (any OccurrenceMark)?) {
    var waiter: UnsafeContinuation<Void, Never>?
    mutex.lock()
    if let only = unsafe only {
      unsafe only._withUnsafeGuaranteedRef { buffer in
        buffer.append(payload, mark)
        unsafe waiter = buffer.takeWaiter()
      }
    } else {
      return giveAll(payload, mark)
    }
    mutex.unlock()
    if let waiter = unsafe waiter { unsafe Scheduling.resume(waiter) }
  }

  /// The caller has locked `mutex`, and this method unlocks it.
  func giveAll(_ payload: BorrowedPayload, _ mark: (any OccurrenceMark)?) {
    var waiters: [UnsafeContinuation<Void, Never>] = unsafe []
    for buffer in unsafe buffers {
      buffer.append(payload, mark)
      mark?.share()  // for the next buffer
      if let waiter = unsafe buffer.takeWaiter() { unsafe waiters.append(waiter) }
    }
    let origin = unsafe origin
    origin?.append(payload, mark)
    // If the last loop has just ended, the mark is released with its share, which reports the loss.
    let givesUpShare = unsafe origin == nil && !buffers.isEmpty
    mutex.unlock()
    if givesUpShare { mark?.handled() }
    unsafe Scheduling.resume(waiters)
  }

  /// `missing` counts the iterators that lost this payload or an older one or, if there are none,
  /// the origin. Isolation: core.
  func give(_ payload: BorrowedPayload, _ delivery: inout Delivery) -> (taken: Int, missing: Int) {
    let mark = delivery.makeMark()
    if !buffering.suspendsSender, let outcome = giveToOnly(payload, mark) { return outcome }
    let isSend = unsafe buffering.suspendsSender && !neverSuspends && delivery.isSend
    // Registered first, because an iterator may take the payload as soon as the buffer has it. A
    // registration that isn't needed ends below.
    var senders = isSend && !delivery.isLate ? waiting(delivery.completionIfAwaited()) : [:]
    var (taken, missing) = (0, 0)
    var waiters: [UnsafeContinuation<Void, Never>] = unsafe []
    var lost: [any OccurrenceMark] = []
    mutex.lock()
    forEachBuffer { buffer in
      mark?.share()
      let outcome = unsafe buffer.bounded.append(payload, isSend: isSend, senders[ObjectIdentifier(buffer)], &dropped)
      if let gone = buffer.note(mark, outcome) { lost.append(gone) }
      if outcome.isTaken { taken += 1 }
      if outcome.keepsSender { senders[ObjectIdentifier(buffer)] = nil }
      // A drop by `origin` counts only while there is no iterator. Otherwise, each iterator's
      // buffer drops a payload whenever `origin` does.
      if !outcome.isTaken || outcome.hasReplaced, unsafe buffer !== origin || buffers.isEmpty { missing += 1 }
      if let waiter = unsafe buffer.takeWaiter() { unsafe waiters.append(waiter) }
    }
    mutex.unlock()
    mark?.handled()  // the share with which it was made
    endMarks(lost)
    destroyDropped()
    pass(Array(senders.values))
    unsafe Scheduling.resume(waiters)
    return (taken, missing)
  }

  // Isolation: core.
  private func giveToOnly(
    _ payload: BorrowedPayload, _ mark: (any OccurrenceMark)?
  ) -> (taken: Int, missing: Int)? {
    var lost: (any OccurrenceMark)?
    mutex.lock()
    guard let only = unsafe only else {
      mutex.unlock()
      return nil
    }
    let (outcome, waiter) = unsafe only._withUnsafeGuaranteedRef {
      let outcome = unsafe $0.bounded.append(payload, isSend: false, nil, &dropped)
      lost = $0.note(mark, outcome)
      return unsafe (outcome, $0.takeWaiter())
    }
    mutex.unlock()
    endMarks(lost.map { [$0] } ?? [])
    destroyDropped()
    if let waiter = unsafe waiter { unsafe Scheduling.resume(waiter) }
    return (outcome.isTaken ? 1 : 0, outcome.isTaken && !outcome.hasReplaced ? 0 : 1)
  }

  /// With ``Buffering/latest``, a replaced payload counts as handled. Otherwise, it's lost, which
  /// is reported by releasing the mark. Never called under a mutex.
  private func endMarks(_ marks: consuming [any OccurrenceMark]) {
    if buffering == .latest { for mark in marks { mark.handled() } }
  }

  /// Never called under a mutex. Isolation: core.
  private func destroyDropped() {
    while unsafe !dropped.isEmpty {
      _ = unsafe dropped.takeFirst()
      unsafe dropped.destroyTaken()
    }
    unsafe dropped.recycle()
  }

  // Isolation: core.
  private func waiting(_ completion: Completion?) -> [ObjectIdentifier: WaitingSender] {
    guard let completion else { return [:] }
    var senders: [ObjectIdentifier: WaitingSender] = [:]
    // Copied, because other threads modify the array in place, under the mutex.
    let targets = mutex.withLock { unsafe buffers.isEmpty ? origin.map { [$0] } ?? [] : buffers.map { $0 } }
    for buffer in targets {
      completion.expectUncounted(buffer)
      senders[ObjectIdentifier(buffer)] = WaitingSender(completion: completion, node: buffer)
    }
    return senders
  }

  /// Never called under a mutex.
  func pass(_ senders: [WaitingSender]) { for sender in senders { sender.pass() } }

  func end(isRemoved: Bool) {
    var senders: [WaitingSender] = []
    var (contents, waiters): ([BufferContents], [UnsafeContinuation<Void, Never>]) = unsafe ([], [])
    mutex.lock()
    unsafe isEnded = true
    unsafe token = nil
    forEachBuffer { buffer in
      if isRemoved { empty(buffer, &senders, &contents) } else { unsafe senders += buffer.bounded.takeSenders() }
      if let waiter = unsafe buffer.takeWaiter() { unsafe waiters.append(waiter) }
    }
    mutex.unlock()
    pass(senders)
    unsafe Scheduling.resume(waiters)
  }

  /// The caller holds `mutex`. After unlocking, it calls ``pass(_:)`` and releases the contents.
  func empty(
    _ buffer: IteratorBuffer, _ senders: inout [WaitingSender], _ contents: inout [BufferContents]
  ) {
    unsafe senders += buffer.bounded.takeSenders()
    contents.append(buffer.takeContents(buffering, type))
  }
}

// Safe: the hub guards its own state, and the sink has no other. Isolation of the functions: core.
@usableFromInline final class SequenceSink: DeliveryTarget, @unchecked Sendable {
  let hub: SequenceHub

  init(_ record: DetailedRecord, _ anchor: EventAnchor, _ hub: SequenceHub) {
    self.hub = hub
    _ = hub.recordReference.set(record)
    super.init(record, anchor)
  }

  override var waitingCount: Int { hub.waitingCount }

  func deliver(_ payload: BorrowedPayload, _ delivery: inout Delivery) {
    if hub.isBounded { return deliverBounded(payload, &delivery) }
    hub.give(payload, delivery.makeMark())
    countCallAlone()
    delivery.report.delivered &+= 1
  }

  @inline(__always) func deliverPost(_ payload: BorrowedPayload) {
    hub.give(payload, nil)
    countCallAlone()
  }

  func deliverBounded(_ payload: BorrowedPayload, _ delivery: inout Delivery) {
    let (taken, missing) = hub.give(payload, &delivery)
    dropped.wrappingAdd(missing, ordering: .relaxed)
    for _ in 0..<missing { delivery.observed?.dropped(HandlerToken(record, anchor)) }
    if taken > 0 { countCallAlone() }
    if taken > 0 { delivery.report.delivered &+= 1 } else { delivery.report.dropped &+= 1 }
  }

  override func finish() -> Bool {
    hub.end(isRemoved: record.has(HandlerFlags.removed))
    record.set(HandlerFlags.spent)  // not `removed`: that flag keeps iterators from taking the payloads that wait
    over.publish(true)
    return true
  }

  /// `quiesce` doesn't wait for loops.
  override func sendBarrier(_ completion: Completion) {}
}
