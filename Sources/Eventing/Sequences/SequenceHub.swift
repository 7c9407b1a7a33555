/// What a sequence has in its event: one handler, which gives each payload to every iterator.
///
/// Until something is taken there is one buffer more, from which each iterator starts: so all of them see everything since the sequence was made. Afterwards
/// that would have to keep everything for as long as the sequence is there, which a task that iterates over it usually holds.
// Safe: what changes is guarded by `mutex`.
@safe @usableFromInline final class SequenceHub: @unchecked Sendable {
  @usableFromInline let buffering: Buffering
  @usableFromInline let isBounded: Bool
  @usableFromInline let mutex = UnfairMutex()

  // Under the lock.
  @usableFromInline @exclusivity(unchecked) var origin: IteratorBuffer?
  @usableFromInline @exclusivity(unchecked) var buffers: [IteratorBuffer] = []
  /// The one buffer, if there is one and no more: lent without a retain.
  @usableFromInline @exclusivity(unchecked) var only: Unmanaged<IteratorBuffer>?
  /// The handler, until it goes.
  @exclusivity(unchecked) private var token: HandlerToken?
  /// Nothing more comes.
  @exclusivity(unchecked) private var isEnded = false
  /// From inside the event: what was dropped, until it is destroyed.
  @exclusivity(unchecked) private var dropped: PayloadQueue<PayloadAlone>
  /// Of the handler; there before any iterator.
  @usableFromInline let recordReference = OnceReference<HandlerRecord>()

  @usableFromInline let type: PayloadType
  init(_ buffering: Buffering, _ type: PayloadType) {
    self.type = type
    self.buffering = buffering
    isBounded = buffering.isBounded
    unsafe dropped = PayloadQueue(type)
    unsafe origin = IteratorBuffer(buffering, type)
    noteOnly()
  }

  // MARK: Under the lock

  /// After the buffers have changed.
  private func noteOnly() {
    let one = unsafe origin == nil && buffers.count == 1 ? buffers[0] : buffers.isEmpty ? origin : nil
    unsafe only = unsafe one.map { unsafe .passUnretained($0) }
  }

  /// Of each iterator, and of the sequence itself.
  private func forEachBuffer(_ body: (IteratorBuffer) -> Void) {
    for buffer in unsafe buffers { body(buffer) }
    if let origin = unsafe origin { body(origin) }
  }

  private func insert(_ buffer: IteratorBuffer) {
    unsafe buffer.index = buffers.count
    unsafe buffers.append(buffer)
  }

  /// O(1): the last one takes its place.
  private func remove(_ buffer: IteratorBuffer) {
    guard let index = unsafe buffer.index else { return }
    unsafe buffer.index = nil
    unsafe buffers.swapAt(index, buffers.count - 1)
    unsafe buffers.removeLast()
    if unsafe index < buffers.count { unsafe buffers[index].index = index }
  }

  /// Adds the handler.
  func listen<Payload: Sendable>(to source: some EventSource<Payload>) {
    let token = source.attach(Handler(.sequence(buffering), .sequence(self)))
    _ = recordReference.set(token.record)
    mutex.withLock { unsafe self.token = unsafe isEnded ? nil : token }
  }

  // MARK: For the event, from inside it

  /// Gives a payload to all where there is no bound.
  @usableFromInline func give(_ payload: BorrowedPayload) {
    var waiter: UnsafeContinuation<Void, Never>?
    mutex.lock()
    if let only = unsafe only {
      unsafe only._withUnsafeGuaranteedRef { buffer in
        unsafe buffer.items.append(PayloadAlone(), payload)
        unsafe waiter = buffer.takeSleeper()
      }
    } else {
      return giveAll(payload)
    }
    mutex.unlock()
    unsafe waiter?.resume()
  }

  /// Under the lock, which it unlocks.
  @usableFromInline func giveAll(_ payload: BorrowedPayload) {
    var waiters: [UnsafeContinuation<Void, Never>] = unsafe []
    unsafe origin?.items.append(PayloadAlone(), payload)
    for buffer in unsafe buffers {
      unsafe buffer.items.append(PayloadAlone(), payload)
      if let waiter = unsafe buffer.takeSleeper() { unsafe waiters.append(waiter) }
    }
    mutex.unlock()
    unsafe waiters.forEach { unsafe $0.resume() }
  }

  /// The same with a bound.
  ///
  /// - Returns: how many iterators took it, and how many had to drop something.
  @usableFromInline func give(_ payload: BorrowedPayload, _ tally: inout DeliveryTally) -> (taken: Int, missing: Int) {
    if !buffering.suspendsSender, let outcome = giveToOnly(payload) { return outcome }
    let isSend = buffering.suspendsSender && tally.isSend
    // Who waits is counted before it may be taken, and passed at once if it need not wait.
    var senders = isSend && !tally.isLate ? waiting(tally.completionIfAwaited()) : [:]
    var (taken, missing) = (0, 0)
    var waiters: [UnsafeContinuation<Void, Never>] = unsafe []
    mutex.lock()
    forEachBuffer { buffer in
      let outcome = unsafe buffer.bounded.append(payload, isSend: isSend, senders[ObjectIdentifier(buffer)], &dropped)
      if outcome.isTaken { taken += 1 }
      if outcome.keepsSender { senders[ObjectIdentifier(buffer)] = nil }
      // The first buffer counts as long as there is no iterator, which has the same otherwise.
      if !outcome.isTaken || outcome.hasReplaced, unsafe buffer !== origin || buffers.isEmpty { missing += 1 }
      if let waiter = unsafe buffer.takeSleeper() { unsafe waiters.append(waiter) }
    }
    mutex.unlock()
    destroyDropped()
    pass(Array(senders.values))
    unsafe waiters.forEach { unsafe $0.resume() }
    return (taken, missing)
  }

  /// The same to the only buffer, if there is one and no more, where nobody waits for room.
  private func giveToOnly(_ payload: BorrowedPayload) -> (taken: Int, missing: Int)? {
    mutex.lock()
    guard let only = unsafe only else {
      mutex.unlock()
      return nil
    }
    let (outcome, waiter) = unsafe only._withUnsafeGuaranteedRef {
      unsafe ($0.bounded.append(payload, isSend: false, nil, &dropped), $0.takeSleeper())
    }
    mutex.unlock()
    destroyDropped()
    unsafe waiter?.resume()
    return (outcome.isTaken ? 1 : 0, outcome.isTaken && !outcome.hasReplaced ? 0 : 1)
  }

  private func destroyDropped() {
    while unsafe !dropped.isEmpty {
      _ = unsafe dropped.takeFirst()
      unsafe dropped.destroyTaken()
    }
    unsafe dropped.recycle()
  }

  /// A send waits for the iterators; as long as there is none, for the first.
  private func waiting(_ completion: Completion?) -> [ObjectIdentifier: WaitingSender] {
    guard let completion else { return [:] }
    var senders: [ObjectIdentifier: WaitingSender] = [:]
    // Copied: no array leaves the lock that is changed in place there.
    let targets = mutex.withLock { unsafe buffers.isEmpty ? origin.map { [$0] } ?? [] : buffers.map { $0 } }
    for buffer in targets {
      completion.expectUncounted(buffer)
      senders[ObjectIdentifier(buffer)] = WaitingSender(completion: completion, node: buffer)
    }
    return senders
  }

  private func pass(_ senders: [WaitingSender]) { for sender in senders { sender.pass() } }

  /// Nothing more comes. What waits can still be taken, unless the handler was removed; no send waits for that any more.
  func end(isRemoved: Bool) {
    var senders: [WaitingSender] = []
    var (contents, waiters): ([BufferContents], [UnsafeContinuation<Void, Never>]) = unsafe ([], [])
    mutex.lock()
    unsafe isEnded = true
    unsafe token = nil
    forEachBuffer { buffer in
      if isRemoved { empty(buffer, &senders, &contents) } else { unsafe senders += buffer.bounded.takeSenders() }
      if let waiter = unsafe buffer.takeSleeper() { unsafe waiters.append(waiter) }
    }
    mutex.unlock()
    pass(senders)
    unsafe waiters.forEach { unsafe $0.resume() }
  }

  /// Under the lock; what it had is the caller's to release.
  private func empty(
    _ buffer: IteratorBuffer, _ senders: inout [WaitingSender], _ contents: inout [BufferContents]
  ) {
    unsafe senders += buffer.bounded.takeSenders()
    contents.append(buffer.takeContents(buffering, type))
  }

  // MARK: For iterators

  /// Another iterator.
  func makeBuffer() -> IteratorBuffer {
    let buffer = IteratorBuffer(buffering, type)
    let origin = mutex.withLock { () -> IteratorBuffer? in
      let origin = unsafe self.origin
      if let origin {
        buffer.copyContents(of: origin)
        // The sends that wait for the first iterator are in one copy only.
        if unsafe buffers.isEmpty {
          _ = unsafe origin.bounded.takeSenders()
        } else {
          _ = unsafe buffer.bounded.takeSenders()
        }
      }
      insert(buffer)
      noteOnly()
      return origin
    }
    if buffering.suspendsSender {
      origin?.hand(over: buffer)
      buffer.noteConsumer()
    }
    return buffer
  }

  /// An iterator goes, or the sequence. The handler goes with the last iterator, or with a sequence that had none.
  @usableFromInline func drop(_ buffer: IteratorBuffer?) {
    var senders: [WaitingSender] = []
    var (contents, gone): ([BufferContents], IteratorBuffer?) = ([], nil)
    mutex.lock()
    // Another task may wait with this iterator, and nobody finds it after this.
    let waiter = unsafe buffer?.takeSleeper()
    if let buffer {
      empty(buffer, &senders, &contents)
      remove(buffer)
    }
    if let origin = unsafe origin, unsafe buffer == nil || buffers.isEmpty {
      empty(origin, &senders, &contents)
      gone = origin
      unsafe self.origin = nil
    }
    noteOnly()
    let last = unsafe buffers.isEmpty ? token : nil
    if last != nil {
      unsafe token = nil
      unsafe isEnded = true
    }
    mutex.unlock()
    if buffering.suspendsSender { buffer?.forgetConsumer() }
    pass(senders)
    unsafe waiter?.resume()
    if let last { _ = last.identity.remove(last.record) }
    withExtendedLifetime(gone) {}
  }

  enum Taken { case something, nothing, end }

  /// Takes what is next: all that waits, or one where there is a bound, and how many were dropped before it. `batch` is empty.
  func take(_ buffer: IteratorBuffer, _ batch: inout PayloadQueue<PayloadAlone>, _ lag: inout Int) -> Taken {
    var senders: [WaitingSender] = []
    mutex.lock()
    if !isBounded {
      unsafe swap(&batch, &buffer.items)
    } else if let (item, room) = unsafe buffer.bounded.moveFirst(to: &batch) {
      lag = item.lag
      if let sender = item.sender { senders.append(sender) }
      if let room { senders.append(room) }
    } else {
      lag = unsafe buffer.bounded.takeLag()
    }
    let isSomething = !batch.isEmpty || lag > 0
    let taken = unsafe isSomething ? Taken.something : isEnded ? .end : .nothing
    let begun = unsafe isSomething ? origin : nil
    if let begun {
      // A send that found no iterator may have come to wait here after there was one.
      unsafe senders += begun.bounded.takeSenders()
      unsafe origin = nil
      noteOnly()
    }
    mutex.unlock()
    pass(senders)
    withExtendedLifetime(begun) {}  // what it had is released outside of the lock
    return taken
  }

  /// Before an iterator waits; false if a task waits with it already.
  func begin(_ buffer: IteratorBuffer) -> Bool {
    mutex.withLock {
      guard unsafe buffer.waiter == nil else { return false }
      unsafe buffer.isCancelled = false
      return true
    }
  }

  /// Lets an iterator wait; false if there is something for it.
  func park(_ buffer: IteratorBuffer, _ waiter: UnsafeContinuation<Void, Never>) -> Bool {
    mutex.withLock {
      guard unsafe buffer.waiter == nil, unsafe !isEnded, unsafe !buffer.isCancelled else { return false }
      guard unsafe buffer.items.isEmpty, unsafe buffer.bounded.isEmpty else { return false }
      unsafe buffer.waiter = unsafe waiter
      return true
    }
  }

  /// Lets an iterator go on whose task was cancelled.
  func cancel(_ buffer: IteratorBuffer) {
    mutex.lock()
    unsafe buffer.isCancelled = true
    let waiter = unsafe buffer.takeSleeper()
    mutex.unlock()
    unsafe waiter?.resume()
  }
}
