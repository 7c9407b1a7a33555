/// Where payloads wait for one iterator, and the iterator for payloads.
// Safe: all is guarded by the hub's lock, but what says that the lock of the wait graph guards it.
@safe @usableFromInline final class IteratorBuffer: WaitNode, @unchecked Sendable {
  /// What waits if there is no bound, and nothing else is to be known of it.
  @exclusivity(unchecked) var items: PayloadQueue<PayloadAlone>
  /// What waits if there is a bound.
  @exclusivity(unchecked) var bounded: BoundedBuffer
  /// The iterator, if it waits.
  @usableFromInline @exclusivity(unchecked) var waiter: UnsafeContinuation<Void, Never>?

  @exclusivity(unchecked) var isCancelled = false
  /// Its place among the buffers of the iterators; nil for the sequence's own, and afterwards.
  @exclusivity(unchecked) var index: Int?

  /// The call of a handler that iterates, if it is one: changed by who iterates alone, and under the lock of the wait graph.
  @exclusivity(unchecked) private var call: Invocation?
  /// The task that iterates, which may outlive the call that started it; as `call`.
  @exclusivity(unchecked) private var loop: (task: UInt64, running: Invocation)?

  /// The first iterator that took over what waited here, if this is the sequence's own. Under the lock of the wait graph.
  @exclusivity(unchecked) private var successor: IteratorBuffer?

  init(_ buffering: Buffering, _ type: PayloadType) {
    unsafe items = PayloadQueue(type)
    unsafe bounded = BoundedBuffer(buffering, type)
  }

  /// Under the lock: begins with what waits in another one.
  func copyContents(of other: IteratorBuffer) {
    unsafe items = other.items.copy()
    unsafe bounded = other.bounded.copy()
  }

  /// Under the lock: takes out all that waits, to be destroyed outside of the lock.
  func takeContents(_ buffering: Buffering, _ type: PayloadType) -> BufferContents {
    let contents = BufferContents(buffering, type)
    unsafe swap(&items, &contents.items)
    unsafe swap(&bounded, &contents.bounded)
    return contents
  }

  @usableFromInline func takeSleeper() -> UnsafeContinuation<Void, Never>? {
    guard let taken = unsafe waiter else { return nil }
    unsafe waiter = nil
    return unsafe taken
  }

  // MARK: For a send that waits for room (G16)

  /// Notes who iterates.
  func noteConsumer() {
    let call = Context.running.get().flatMap { $0.isCurrent ? $0 : nil }
    let task = TaskID.current
    if unsafe call === self.call, unsafe task == loop?.task ?? 0 { return }
    let gone = WaitGraph.mutex.withLock {
      let before = unsafe (self.call, loop?.running)
      unsafe self.call = call
      guard unsafe task != loop?.task ?? 0 else { return before }
      if let before = unsafe loop { ConsumerTasks.leave(before.task) }
      unsafe loop = task == 0 ? nil : (task, ConsumerTasks.join(task))
      return before
    }
    withExtendedLifetime(gone) {}  // released outside of the lock
  }

  /// Nobody iterates any more.
  func forgetConsumer() {
    let gone = WaitGraph.mutex.withLock {
      let before = unsafe (call, loop?.running)
      if let before = unsafe loop { ConsumerTasks.leave(before.task) }
      unsafe loop = nil
      unsafe call = nil
      return before
    }
    withExtendedLifetime(gone) {}  // released outside of the lock
  }

  /// Sends that came to wait here wait for that iterator now.
  func hand(over buffer: IteratorBuffer) {
    WaitGraph.mutex.withLock {
      if unsafe successor == nil { unsafe successor = buffer }
    }
  }

  override func needs(_ goal: Invocation) -> WaitNeeds {
    if let successor = unsafe successor { return .any([successor]) }
    // What a task sends belongs to the call that started it as long as that runs, and then to the task.
    if let call = unsafe call, call.isCurrent { return .any([call.executionSlot]) }
    return unsafe loop.map { .any([$0.running.executionSlot]) } ?? .free
  }
}

/// What waited in an buffer that goes.
final class BufferContents {
  fileprivate var items: PayloadQueue<PayloadAlone>
  fileprivate var bounded: BoundedBuffer

  fileprivate init(_ buffering: Buffering, _ type: PayloadType) {
    items = PayloadQueue(type)
    bounded = BoundedBuffer(buffering, type)
  }
}
