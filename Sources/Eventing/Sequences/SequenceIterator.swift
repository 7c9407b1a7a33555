import Synchronization

/// Used by one task at a time.
@usableFromInline final class SequenceIterator {
  let hub: SequenceHub
  private let buffer: IteratorBuffer
  /// Cached, because senders write to the cache lines of the hub, which slows down reads there.
  let record: HandlerRecord?
  @exclusivity(unchecked) private var batch: PayloadQueue<PayloadAlone>
  @exclusivity(unchecked) private var gathered: PayloadQueue<PayloadAlone>
  @exclusivity(unchecked) private var marks = MarkQueue()
  /// The marks of what the loop is working on. Once it requests more, it has handled this.
  @exclusivity(unchecked) private var current: [any OccurrenceMark] = []
  @exclusivity(unchecked) private var hasBegun = false
  @exclusivity(unchecked) private var lag = 0
  @exclusivity(unchecked) private var isOver = false

  @usableFromInline init(_ hub: SequenceHub) {
    self.hub = hub
    buffer = hub.makeBuffer()
    unsafe batch = PayloadQueue(hub.type)
    unsafe gathered = PayloadQueue(hub.batch?.type ?? hub.type)
    record = hub.recordReference.load()
  }

  deinit { if unsafe !isOver { unsafe hub.leave(buffer, &batch, isMarked: marks.isOn) } }

  @inlinable @inline(__always) func next<Payload>(_: Payload.Type, isolation: isolated (any Actor)?) async -> Payload? {
    while true {
      if let payload = takeNext() { return payload.moved(to: Payload.self) }
      guard await fill(isolation: isolation) else { return nil }
    }
  }

  @inlinable @inline(__always) func nextArrival<Payload>(_: Payload.Type, isolation: isolated (any Actor)?) async
    -> EventArrival<Payload>?
  {
    while true {
      if let missing = takeLag() { return .dropped(missing) }
      if let payload = takeNext(tellsLag: true) { return .payload(payload.moved(to: Payload.self)) }
      guard await fill(isolation: isolation) else { return nil }
    }
  }

  @usableFromInline func takeNext(tellsLag: Bool = false) -> BorrowedPayload? {
    noteHandled()
    guard unsafe !batch.isEmpty, mayGoOn else { return nil }
    if let rule = hub.batch { return takeBatch(rule, tellsLag: tellsLag) }
    _ = unsafe batch.takeFirst()
    noteTaken()
    return unsafe batch.taken
  }

  @inline(__always) private func noteTaken() {
    if unsafe marks.isOn, let mark = unsafe marks.popFirst() { unsafe current.append(mark) }
  }

  @inline(never) private func takeBatch(_ rule: BatchRule, tellsLag: Bool) -> BorrowedPayload? {
    var payloads = PayloadQueue<PayloadAlone>(hub.type)
    repeat {
      while unsafe !batch.isEmpty, payloads.count < rule.count {
        unsafe payloads.append(batch.takeFirst(), takenFrom: &batch)
        noteTaken()
      }
      if payloads.count == rule.count || !refill() { break }
    } while unsafe !tellsLag || lag == 0
    unsafe gathered.recycle()
    unsafe rule.append(&payloads, &gathered)
    _ = unsafe gathered.takeFirst()
    return unsafe gathered.taken
  }

  @inline(__always) func noteHandled() {
    if unsafe !current.isEmpty { endCurrent() }
  }

  /// A loop that was cancelled or whose handler was removed may have been interrupted. In that
  /// case, the marks are released, and a transport redelivers the payloads.
  private func endCurrent() {
    let marks = takeMarks()
    guard mayGoOn else { return }
    for mark in marks { mark.handled() }
  }

  func takeMarks() -> [any OccurrenceMark] {
    defer { unsafe current = [] }
    return unsafe current
  }

  private var mayGoOn: Bool { !Task.isCancelled && record?.has(HandlerFlags.removed) != true }

  @usableFromInline func takeLag() -> Int? {
    defer { unsafe lag = 0 }
    return unsafe lag > 0 ? lag : nil
  }

  @usableFromInline func fill(isolation: isolated (any Actor)?) async -> Bool {
    unsafe batch.recycle()
    // Spins first, as a lane does: batches get longer, and waking this task would cost a sender
    // more.
    if !hub.isBounded, unsafe hasBegun { Thread.spin(Thread.spinLimit) }
    unsafe hasBegun = true
    while unsafe !isOver {
      guard mayGoOn else {
        end()
        break
      }
      if unsafe !batch.isEmpty { return true }
      if hub.buffering.suspendsSender { buffer.noteConsumer() }
      switch unsafe hub.take(buffer, &batch, &marks, &lag) {
      case .something: return true
      case .nothing: guard await wait(isolation: isolation) else { return false }
      case .end: end()
      }
    }
    return false
  }

  func nextNow<Payload>(_: Payload.Type) -> Payload? {
    while true {
      if let payload = takeNext() { return payload.moved(to: Payload.self) }
      guard refill() else { return nil }
    }
  }

  func refill() -> Bool {
    unsafe batch.recycle()
    guard mayGoOn, case .something = unsafe hub.take(buffer, &batch, &marks, &lag) else { return false }
    return true
  }

  private func wait(isolation: isolated (any Actor)?) async -> Bool {
    let (hub, buffer) = (hub, buffer)
    // `begin` also clears a cancellation left by an earlier task of the iterator.
    guard hub.begin(buffer) else {
      Warning.tell(
        "expected one task at a time to ask an iterator of \(hub.type); another task waits for its next payload. This one is told nil."
      )
      return false
    }
    await withTaskCancellationHandler {
      unsafe await withUnsafeContinuation { continuation in
        if unsafe !hub.park(buffer, continuation) { unsafe continuation.resume() }
      }
    } onCancel: {
      hub.cancel(buffer)
    }
    return true
  }

  private func end() {
    unsafe isOver = true
    unsafe batch = PayloadQueue(hub.type)
    unsafe marks = MarkQueue()
    unsafe lag = 0
    if mutant(.cancelledLoopStays) { return }
    hub.drop(buffer)
  }
}

/// In the wait graph, an iterating task is like a running handler call (G16): its ``Invocation``
/// has its own execution slot. A `send` that waits for room waits for that slot, or for the handler
/// call in which the task iterates.
enum ConsumerTasks {
  private static let isAny = Atomic<Bool>(false)
  // Safe: guarded by the mutex of the wait graph.
  // Guarded by: WaitGraph.mutex.
  nonisolated(unsafe) private static var all: [UInt64: (invocation: Invocation, iterators: Int)] = [:]

  static var invocation: Invocation? {
    guard isAny.load(ordering: .acquiring), case let task = TaskID.current, task != 0 else { return nil }
    return WaitGraph.mutex.withLock { unsafe all[task]?.invocation }
  }

  // The callers of these two functions hold `WaitGraph.mutex`.
  static func join(_ task: UInt64) -> Invocation {
    let known = unsafe all[task] ?? (Invocation(ExecutionSlot()), 0)
    unsafe all[task] = (known.invocation, known.iterators + 1)
    isAny.publish(true)
    return known.invocation
  }

  static func leave(_ task: UInt64) {
    guard let known = unsafe all[task] else { return }
    if known.iterators > 1 {
      unsafe all[task] = (known.invocation, known.iterators - 1)
    } else {
      unsafe all[task] = nil
      known.invocation.end()
      isAny.publish(unsafe !all.isEmpty)
    }
  }
}
