/// The shared state of a sequence: one handler of the event, which gives each payload to the buffer
/// of every iterator.
///
/// Until an iterator takes a payload, there is an additional buffer, the origin. Each new iterator
/// copies the origin, so all iterators see every payload since the sequence was made. The first
/// payload that is taken ends the origin. Otherwise the origin would keep every payload for as long
/// as the sequence exists, and a task that iterates usually holds the sequence. If the last
/// iterator is released before its end, its buffer becomes the origin, so the next iterator goes on
/// there.
// Safe: each field says what guards it.
@safe @usableFromInline final class SequenceHub: @unchecked Sendable {
  let buffering: Buffering
  let isBounded: Bool
  let mutex = UnfairMutex()

  /// The origin: the buffer that new iterators copy. `nil` after any iterator has taken a payload,
  /// because later iterators receive only new payloads; and after the last iterator has ended.
  /// Guarded by: mutex.
  @exclusivity(unchecked) var origin: IteratorBuffer?
  /// The buffers of the iterators. Guarded by: mutex.
  @exclusivity(unchecked) var buffers: [IteratorBuffer] = []
  /// The only buffer of the sequence, if there is exactly one: the one element of `buffers` or,
  /// before there is an iterator, `origin`, the buffer that new iterators copy. Otherwise `nil`.
  /// Not retained by this field. Guarded by: mutex.
  @exclusivity(unchecked) var only: Unmanaged<IteratorBuffer>?
  /// The token of the handler; `nil` before it is added, and after its end. Guarded by: mutex.
  @exclusivity(unchecked) var token: HandlerToken?
  /// Whether the sequence exists, so that more iterators may be made. Guarded by: mutex.
  @exclusivity(unchecked) var isHeld = true
  /// Whether no more payloads come. Guarded by: mutex.
  @exclusivity(unchecked) var isEnded = false
  /// The payloads that were dropped for want of room, until `destroyDropped()` destroys them after
  /// the unlock of `mutex`. Isolation: core.
  @exclusivity(unchecked) private var dropped: PayloadQueue<PayloadAlone>
  /// The record of the handler that gives the payloads. Set before the first iterator is made.
  let recordReference = OnceReference<HandlerRecord>()

  /// The content of the buffers. Set before the handler is added.
  @exclusivity(unchecked) private var content: (type: PayloadType, batch: BatchRule?)
  /// The type of the payloads in the buffers.
  var type: PayloadType { unsafe content.type }
  /// How the iterators make batches of the payloads; `nil` if they give single ones.
  var batch: BatchRule? { unsafe content.batch }

  init(_ buffering: Buffering, _ type: PayloadType) {
    unsafe content = (type, nil)
    self.buffering = buffering
    isBounded = buffering.isBounded
    unsafe dropped = PayloadQueue(type)
    unsafe origin = IteratorBuffer(buffering, type)
    noteOnly()
  }

  /// Lets the buffers have single payloads, of which the iterators make batches. Called before the
  /// handler is added.
  func gather(by rule: BatchRule, of type: PayloadType) {
    unsafe content = (type, rule)
    unsafe dropped = PayloadQueue(type)
    unsafe origin = IteratorBuffer(buffering, type)
    noteOnly()
  }

  // MARK: Under the mutex

  /// Sets `only` to the one buffer of the sequence, or to `nil` if there are several or none.
  /// Called after a change of `buffers`, or of `origin`, the buffer that new iterators copy. The
  /// caller holds `mutex`.
  func noteOnly() {
    let one = unsafe origin == nil && buffers.count == 1 ? buffers[0] : buffers.isEmpty ? origin : nil
    unsafe only = unsafe one.map { unsafe .passUnretained($0) }
  }

  /// Calls a closure with the buffer of each iterator, and with `origin` (the buffer that new
  /// iterators copy) if it exists. The caller holds `mutex`.
  @inline(never) func forEachBuffer(_ body: (IteratorBuffer) -> Void) {
    for buffer in unsafe buffers { body(buffer) }
    if let origin = unsafe origin { body(origin) }
  }

  /// Adds the buffer of a new iterator. The caller holds `mutex`.
  func insert(_ buffer: IteratorBuffer) {
    unsafe buffer.index = buffers.count
    unsafe buffers.append(buffer)
  }

  /// Removes the buffer of an iterator, in O(1): the last buffer takes its place. The caller holds
  /// `mutex`.
  func remove(_ buffer: IteratorBuffer) {
    guard let index = unsafe buffer.index else { return }
    unsafe buffer.index = nil
    unsafe buffers.swapAt(index, buffers.count - 1)
    unsafe buffers.removeLast()
    if unsafe index < buffers.count { unsafe buffers[index].index = index }
  }

  /// The number of payloads that the slowest iterator has not taken. Takes the mutex.
  var waitingCount: Int {
    var most = 0
    mutex.withLock { forEachBuffer { buffer in most = unsafe max(most, buffer.items.count + buffer.bounded.count) } }
    return most
  }

  /// Adds the handler to a source. Takes the mutex.
  func listen<Payload: Sendable>(to source: some EventSource<Payload>, named name: String? = nil) {
    var handler = Handler<Payload>(.sequence(buffering), .sequence(self))
    handler.options.name = name
    let token = source.add(handler)
    mutex.withLock { unsafe self.token = unsafe isEnded ? nil : token }
  }

  // MARK: For the event, inside its core

  /// Gives a payload, and its mark, to the buffers of the sequence, which have no bound. Isolation:
  /// core.
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

  /// Gives a payload to all buffers. The caller has locked `mutex`, and this method unlocks it.
  func giveAll(_ payload: BorrowedPayload, _ mark: (any OccurrenceMark)?) {
    var waiters: [UnsafeContinuation<Void, Never>] = unsafe []
    for buffer in unsafe buffers {
      buffer.append(payload, mark)
      mark?.share()  // for the next buffer
      if let waiter = unsafe buffer.takeWaiter() { unsafe waiters.append(waiter) }
    }
    let origin = unsafe origin
    origin?.append(payload, mark)
    // If the last loop has just ended, the mark is released with its share, and so tells the loss.
    let givesUpShare = unsafe origin == nil && !buffers.isEmpty
    mutex.unlock()
    if givesUpShare { mark?.handled() }
    unsafe Scheduling.resume(waiters)
  }

  /// Gives a payload to the buffers of the sequence, which have a bound. Isolation: core.
  ///
  /// - Returns: `taken` is the number of buffers that took the payload. `missing` is the number of
  ///   iterators whose buffer dropped this payload, or dropped an older one for it. While there is
  ///   no iterator, `missing` is 1 if `origin`, the buffer that the first iterator will copy,
  ///   dropped a payload.
  func give(_ payload: BorrowedPayload, _ tally: inout Delivery) -> (taken: Int, missing: Int) {
    let mark = tally.makeMark()
    if !buffering.suspendsSender, let outcome = giveToOnly(payload, mark) { return outcome }
    let isSend = buffering.suspendsSender && tally.isSend
    // The send is registered with each buffer before the buffer gets the payload, because an
    // iterator may take the payload at once. If the send need not wait for a buffer, its
    // registration there is ended below.
    var senders = isSend && !tally.isLate ? waiting(tally.completionIfAwaited()) : [:]
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
      // A drop by `origin`, the buffer that new iterators copy, counts only while there is no
      // iterator. If there are iterators, each of their buffers drops a payload when `origin` does,
      // and those drops count.
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

  /// Gives a payload to the only buffer of a sequence whose bound drops payloads, and makes no
  /// sender wait. Isolation: core.
  ///
  /// - Returns: `nil` if there is not exactly one buffer; then nothing was done. Otherwise `taken`
  ///   is 1 if the buffer took the payload, and 0 if not. `missing` is 1 if the buffer lost this
  ///   payload or an older one, and 0 if not.
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

  /// Ends the marks of payloads that buffers dropped for newer ones. With ``Buffering/latest``, the
  /// user asked for the newest payload only, so the older one counts as handled. With another
  /// bound, it counts as lost when this method releases the mark. Never called under a mutex.
  private func endMarks(_ marks: consuming [any OccurrenceMark]) {
    if buffering == .latest { for mark in marks { mark.handled() } }
  }

  /// Destroys the payloads that were dropped. Never called under a mutex. Isolation: core.
  private func destroyDropped() {
    while unsafe !dropped.isEmpty {
      _ = unsafe dropped.takeFirst()
      unsafe dropped.destroyTaken()
    }
    unsafe dropped.recycle()
  }

  /// Registers a send with the buffer of each iterator, because the send may wait for room there.
  /// If there is no iterator yet, registers it with `origin`, the buffer that the first iterator
  /// will copy. Isolation: core.
  private func waiting(_ completion: Completion?) -> [ObjectIdentifier: WaitingSender] {
    guard let completion else { return [:] }
    var senders: [ObjectIdentifier: WaitingSender] = [:]
    // Copied: other threads change the array in place, under the mutex.
    let targets = mutex.withLock { unsafe buffers.isEmpty ? origin.map { [$0] } ?? [] : buffers.map { $0 } }
    for buffer in targets {
      completion.expectUncounted(buffer)
      senders[ObjectIdentifier(buffer)] = WaitingSender(completion: completion, node: buffer)
    }
    return senders
  }

  /// Ends, for each of these sends, the wait for room in a buffer. Never called under a mutex.
  func pass(_ senders: [WaitingSender]) { for sender in senders { sender.pass() } }

  /// Ends the sequence. Waiting payloads can still be taken, unless the handler was removed. No
  /// send waits for room any more.
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

  /// Empties a buffer. The caller holds `mutex`. After the unlock, the caller lets the senders go
  /// on, and releases the content.
  func empty(
    _ buffer: IteratorBuffer, _ senders: inout [WaitingSender], _ contents: inout [BufferContents]
  ) {
    unsafe senders += buffer.bounded.takeSenders()
    contents.append(buffer.takeContents(buffering, type))
  }
}
