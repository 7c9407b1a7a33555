/// The place where payloads wait for one iterator, and the iterator waits for payloads.
///
/// It is also a node of the wait graph: a `send` that waits for room waits for the task that
/// iterates. After *Guarded by*, `hub` is the ``SequenceHub`` that the buffer belongs to.
// Safe: each field says what guards it.
@safe @usableFromInline final class IteratorBuffer: WaitNode, @unchecked Sendable {
  /// The waiting payloads of a sequence without a bound. Guarded by: hub.mutex.
  @exclusivity(unchecked) var items: PayloadQueue<PayloadAlone>
  /// The waiting payloads of a sequence with a bound. Guarded by: hub.mutex.
  @exclusivity(unchecked) var bounded: BoundedBuffer
  /// The marks of the waiting payloads. Guarded by: hub.mutex.
  @exclusivity(unchecked) var marks = MarkQueue()
  /// The continuation of the iterator, if it waits. Guarded by: hub.mutex.
  @exclusivity(unchecked) var waiter: UnsafeContinuation<Void, Never>?

  /// Whether the task that waits here was cancelled. Guarded by: hub.mutex.
  @exclusivity(unchecked) var isCancelled = false
  /// The index in `hub.buffers`. `nil` for the buffer `hub.origin`, which belongs to no iterator
  /// (each new iterator copies it), and after the iterator has gone. Guarded by: hub.mutex.
  @exclusivity(unchecked) var index: Int?

  // Only the task that has the iterator changes the next two fields. So that task may read them
  // without the mutex.
  /// The handler call that iterates, if one does. Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) private var call: Invocation?
  /// The task that iterates, and the invocation that stands for it in the wait graph. If a handler
  /// call started the task, the field `call` has that call, and senders wait for it until it has
  /// returned. After that they wait for the task, which may go on. Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) private var consumer: (task: UInt64, invocation: Invocation)?

  /// The buffer of the first iterator. Set only in `hub.origin`, the buffer that each new iterator
  /// copies. In the wait graph, `hub.origin` waits for this buffer. So a send that waits for room
  /// in `hub.origin` is found to wait for the task of the first iterator. Guarded by:
  /// WaitGraph.mutex.
  @exclusivity(unchecked) private var successor: IteratorBuffer?

  init(_ buffering: Buffering, _ type: PayloadType) {
    unsafe items = PayloadQueue(type)
    unsafe bounded = BoundedBuffer(buffering, type)
  }

  /// Appends a payload to a buffer without a bound. The caller holds `hub.mutex`.
  @inline(__always) func append(_ payload: BorrowedPayload, _ mark: (any OccurrenceMark)?) {
    unsafe marks.append(mark, after: items.count)
    unsafe items.append(PayloadAlone(), payload)
  }

  /// Notes the mark of a payload that a buffer with a bound has taken. If the buffer has refused
  /// the payload, its share of the mark stays open. The caller holds `hub.mutex`.
  ///
  /// - Returns: The mark of the older payload that was dropped to make room; `nil` if none was. The
  ///   caller releases the mark after the unlock: its release may tell a transport that the payload
  ///   is lost.
  func note(_ mark: (any OccurrenceMark)?, _ outcome: BoundedBuffer.AppendOutcome) -> (any OccurrenceMark)? {
    guard outcome.isTaken else { return nil }
    let gone = unsafe outcome.hasReplaced ? marks.popFirst() : nil
    unsafe marks.append(mark, after: bounded.count - 1)
    return gone
  }

  /// Puts back, before the waiting payloads, the payloads that the iterator has taken out and not
  /// given to its loop. Only for a buffer without a bound and without marks. The caller holds
  /// `hub.mutex`.
  func putBack(_ batch: inout PayloadQueue<PayloadAlone>) {
    if batch.isEmpty { return }
    while unsafe !items.isEmpty {
      let header = unsafe items.takeFirst()
      unsafe batch.append(header, takenFrom: &items)
    }
    unsafe swap(&items, &batch)
  }

  /// Copies the content of another buffer. The caller holds `hub.mutex`.
  func copyContents(of other: IteratorBuffer) {
    unsafe items = other.items.copy()
    unsafe bounded = other.bounded.copy()
    unsafe marks = other.marks.copy()
  }

  /// Takes out the whole content. The caller holds `hub.mutex`, and releases the content after the
  /// unlock.
  func takeContents(_ buffering: Buffering, _ type: PayloadType) -> BufferContents {
    let contents = BufferContents(buffering, type)
    unsafe swap(&items, &contents.items)
    unsafe swap(&bounded, &contents.bounded)
    unsafe swap(&marks, &contents.marks)
    return contents
  }

  /// Takes out the continuation of the waiting iterator. The caller holds `hub.mutex`, and resumes
  /// the continuation after the unlock.
  func takeWaiter() -> UnsafeContinuation<Void, Never>? {
    guard let taken = unsafe waiter else { return nil }
    unsafe waiter = nil
    return unsafe taken
  }

  // MARK: For a send that waits for room (G16)

  /// Notes the task that iterates, and the handler call in which it does, if there is one. In the
  /// wait graph, a `send` that waits for room in this buffer then waits for them. Called by that
  /// task.
  func noteConsumer() {
    let call = Context.invocation.get().flatMap { $0.isCurrent ? $0 : nil }
    let task = TaskID.current
    if unsafe call === self.call, unsafe task == consumer?.task ?? 0 { return }
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

  /// Forgets the task that iterated, and its handler call, because the iterator has gone.
  func forgetConsumer() {
    let gone = WaitGraph.mutex.withLock {
      let before = unsafe (call, consumer?.invocation)
      if let before = unsafe consumer { ConsumerTasks.leave(before.task) }
      unsafe consumer = nil
      unsafe call = nil
      return before
    }
    withExtendedLifetime(gone) {}  // released after the unlock
  }

  /// In the wait graph, makes this buffer wait for `buffer`, the buffer of the first iterator. So a
  /// send that waits for room in this buffer is found to wait for the task of that iterator. Called
  /// for `hub.origin`, the buffer that new iterators copy. Only the first call has an effect.
  func hand(over buffer: IteratorBuffer) {
    WaitGraph.mutex.withLock {
      if unsafe successor == nil { unsafe successor = buffer }
    }
  }

  override func needs(_ goal: Invocation) -> WaitNeeds {
    if let successor = unsafe successor { return .any([successor]) }
    // A `send` that waits for room in this buffer waits for the task that iterates. While the
    // handler call `call` runs, the wait graph treats this task as a part of the call. After the
    // call has ended, the task stands in the wait graph with its own invocation, the one in
    // `consumer`.
    if let call = unsafe call, call.isCurrent { return .any([call.executionSlot]) }
    return unsafe consumer.map { .any([$0.invocation.executionSlot]) } ?? .free
  }
}

/// The content that was taken out of a buffer. Released where user code may run.
final class BufferContents {
  fileprivate var items: PayloadQueue<PayloadAlone>
  fileprivate var bounded: BoundedBuffer
  var marks = MarkQueue()

  fileprivate init(_ buffering: Buffering, _ type: PayloadType) {
    items = PayloadQueue(type)
    bounded = BoundedBuffer(buffering, type)
  }
}
