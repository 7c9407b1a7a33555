/// A node of the wait graph: a `send` that waits for room waits for the iterating task. Below,
/// `hub` is the ``SequenceHub`` of the buffer.
// Safe: each field says what guards it.
@safe @usableFromInline final class IteratorBuffer: WaitNode, @unchecked Sendable {
  /// Without a bound. Guarded by: hub.mutex.
  @exclusivity(unchecked) var items: PayloadQueue<PayloadAlone>
  /// With a bound. Guarded by: hub.mutex.
  @exclusivity(unchecked) var bounded: BoundedBuffer
  // Guarded by: hub.mutex.
  @exclusivity(unchecked) var marks = MarkQueue()
  // Guarded by: hub.mutex.
  @exclusivity(unchecked) var waiter: UnsafeContinuation<Void, Never>?

  // Guarded by: hub.mutex.
  @exclusivity(unchecked) var isCancelled = false
  /// `nil` for `hub.origin`, and once removed from the hub. Guarded by: hub.mutex.
  @exclusivity(unchecked) var index: Int?

  // Only the task that has the iterator changes these two, so it may read them without the mutex.
  // Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) private var call: Invocation?
  /// Once `call` has returned, senders wait for this instead. Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) private var consumer: (task: UInt64, invocation: Invocation)?

  /// Only in `hub.origin`. Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) private var successor: IteratorBuffer?

  init(_ buffering: Buffering, _ type: PayloadType) {
    unsafe items = PayloadQueue(type)
    unsafe bounded = BoundedBuffer(buffering, type)
  }

  // The callers of the functions up to `takeWaiter()` hold `hub.mutex`. They release or resume the
  // results after unlocking.
  @inline(__always) func append(_ payload: BorrowedPayload, _ mark: (any OccurrenceMark)?) {
    unsafe marks.append(mark, after: items.count)
    unsafe items.append(PayloadAlone(), payload)
  }

  /// If a payload is refused, its share of the mark stays open.
  func note(_ mark: (any OccurrenceMark)?, _ outcome: BoundedBuffer.AppendOutcome) -> (any OccurrenceMark)? {
    guard outcome.isTaken else { return nil }
    let gone = unsafe outcome.hasReplaced ? marks.popFirst() : nil
    unsafe marks.append(mark, after: bounded.count - 1)
    return gone
  }

  func putBack(_ batch: inout PayloadQueue<PayloadAlone>) {
    if batch.isEmpty { return }
    while unsafe !items.isEmpty {
      let header = unsafe items.takeFirst()
      unsafe batch.append(header, takenFrom: &items)
    }
    unsafe swap(&items, &batch)
  }

  func copyContents(of other: IteratorBuffer) {
    unsafe items = other.items.copy()
    unsafe bounded = other.bounded.copy()
    unsafe marks = other.marks.copy()
  }

  func takeContents(_ buffering: Buffering, _ type: PayloadType) -> BufferContents {
    let contents = BufferContents(buffering, type)
    unsafe swap(&items, &contents.items)
    unsafe swap(&bounded, &contents.bounded)
    unsafe swap(&marks, &contents.marks)
    return contents
  }

  func takeWaiter() -> UnsafeContinuation<Void, Never>? {
    guard let taken = unsafe waiter else { return nil }
    unsafe waiter = nil
    return unsafe taken
  }

  // MARK: For a send that waits for room (G16)

  func noteConsumer() {
    let call = Context.invocation.get().flatMap { $0.isCurrent ? $0 : nil }
    let task = TaskID.current
    if unsafe call !== self.call || task != consumer?.task ?? 0 { setConsumer(call, task) }
  }

  func forgetConsumer() { setConsumer(nil, 0) }

  private func setConsumer(_ call: Invocation?, _ task: UInt64) {
    let gone = WaitGraph.mutex.withLock {
      let before = unsafe (self.call, consumer?.invocation)
      unsafe self.call = call
      guard unsafe task != consumer?.task ?? 0 else { return before }
      if let before = unsafe consumer { ConsumerTasks.leave(before.task) }
      unsafe consumer = task == 0 ? nil : (task, ConsumerTasks.join(task))
      return before
    }
    withExtendedLifetime(gone) {}  // released after the unlock
  }

  func hand(over buffer: IteratorBuffer) {
    WaitGraph.mutex.withLock {
      if unsafe successor == nil { unsafe successor = buffer }
    }
  }

  override func needs(_ goal: Invocation) -> WaitNeeds {
    if let successor = unsafe successor { return .any([successor]) }
    // While `call` runs, the task counts as part of it. After that, the task has its own invocation
    // in `consumer`.
    if let call = unsafe call, call.isCurrent { return .any([call.executionSlot]) }
    return unsafe consumer.map { .any([$0.invocation.executionSlot]) } ?? .free
  }
}

/// Released where user code may run.
final class BufferContents {
  fileprivate var items: PayloadQueue<PayloadAlone>
  fileprivate var bounded: BoundedBuffer
  var marks = MarkQueue()

  fileprivate init(_ buffering: Buffering, _ type: PayloadType) {
    items = PayloadQueue(type)
    bounded = BoundedBuffer(buffering, type)
  }
}

/// Not synchronized; the ``SequenceHub`` guards it.
struct BoundedBuffer: ~Copyable {
  private let buffering: Buffering
  private var items: PayloadQueue<Item>
  private var lag = 0

  struct Item: PayloadHeader {
    var lag: Int
    var sender: WaitingSender?
  }

  init(_ buffering: Buffering, _ type: PayloadType) {
    self.buffering = buffering
    items = PayloadQueue(type)
  }

  private init(_ buffering: Buffering, _ items: consuming PayloadQueue<Item>, lag: Int) {
    self.buffering = buffering
    self.items = items
    self.lag = lag
  }

  var count: Int { items.count }

  func copy() -> BoundedBuffer { BoundedBuffer(buffering, items.copy(), lag: lag) }

  struct AppendOutcome {
    var isTaken = true
    var keepsSender = false
    var hasReplaced = false
  }

  /// The payload of a `send` may be taken beyond the bound, in which case the `send` waits.
  ///
  /// - Parameter dropped: Receives a dropped payload, which the caller destroys after unlocking.
  mutating func append(
    _ payload: BorrowedPayload, isSend: Bool, _ sender: WaitingSender?, _ dropped: inout PayloadQueue<PayloadAlone>
  ) -> AppendOutcome {
    let waiting = items.count
    switch buffering.decision(waiting: waiting, isSend: isSend) {
    case .keep:
      let mustWait = isSend && buffering.decision(waiting: waiting, isSend: false) == .dropIt
      items.append(Item(lag: lag, sender: mustWait ? sender : nil), payload)
      lag = 0
      return AppendOutcome(keepsSender: mustWait && sender != nil)
    case .dropIt:
      lag += 1
      return AppendOutcome(isTaken: false)
    case .dropOldest:
      let oldest = items.takeFirst()
      dropped.append(PayloadAlone(), takenFrom: &items)
      items.append(Item(lag: 0), payload)
      items[0].lag += oldest.lag + 1
      return AppendOutcome(hasReplaced: true)
    }
  }

  var isEmpty: Bool { items.isEmpty && lag == 0 }

  mutating func moveFirst(to batch: inout PayloadQueue<PayloadAlone>) -> (item: Item, released: WaitingSender?)? {
    guard !items.isEmpty else { return nil }
    let item = items.takeFirst()
    batch.append(PayloadAlone(), takenFrom: &items)
    items.recycle()
    // Taking one item brings at most one other item within the bound.
    guard case .suspendingSender(let count) = buffering.kind, items.count >= count else { return (item, nil) }
    return (item, items[count - 1].sender.take())
  }

  /// 0 while payloads are waiting, because the next one carries the number.
  mutating func takeLag() -> Int {
    guard items.isEmpty else { return 0 }
    defer { lag = 0 }
    return lag
  }

  /// A buffer that was copied for a new iterator shares its sends with the copy. One of the two
  /// then gives them up, in which case the caller ignores the result.
  mutating func takeSenders() -> [WaitingSender] {
    guard buffering.suspendsSender else { return [] }
    var senders: [WaitingSender] = []
    for i in 0..<items.count {
      if let sender = items[i].sender { senders.append(sender) }
      items[i].sender = nil
    }
    return senders
  }
}

struct WaitingSender: Sendable {
  let completion: Completion
  let node: WaitNode

  /// Never called under a mutex.
  func pass() { completion.arrive(node, nil) }
}
