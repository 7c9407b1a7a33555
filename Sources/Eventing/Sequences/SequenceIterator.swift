/// The state of an iterator: its buffer, and the payloads that it has taken from there.
///
/// Not shared: like an iterator, it is used by one task at a time.
@usableFromInline final class SequenceIterator {
  let hub: SequenceHub
  private let buffer: IteratorBuffer
  /// The record of the sequence's handler. The iterator needs the record for each payload. The hub
  /// refers to it, too, but senders write to the cache lines of the hub, which slows reads there.
  /// So the iterator has a reference of its own.
  let record: HandlerRecord?
  /// The payloads that were taken from the buffer.
  @exclusivity(unchecked) private var batch: PayloadQueue<PayloadAlone>
  /// The batch that the loop receives next, if it receives batches. Empty between two requests.
  @exclusivity(unchecked) private var gathered: PayloadQueue<PayloadAlone>
  /// The marks of the payloads in the batch.
  @exclusivity(unchecked) private var marks = MarkQueue()
  /// The marks of the payloads that the loop received at its last request. When the loop requests
  /// the next payload, it has handled these payloads, and their marks leave this array.
  @exclusivity(unchecked) private var current: [any OccurrenceMark] = []
  /// Whether `fill` was called before.
  @exclusivity(unchecked) private var hasBegun = false
  /// The number of payloads that were dropped directly before the batch.
  @exclusivity(unchecked) private var lag = 0
  /// Whether the iterator has ended, and has left the hub.
  @exclusivity(unchecked) private var isOver = false

  @usableFromInline init(_ hub: SequenceHub) {
    self.hub = hub
    buffer = hub.makeBuffer()
    unsafe batch = PayloadQueue(hub.type)
    unsafe gathered = PayloadQueue(hub.batch?.type ?? hub.type)
    record = hub.recordReference.load()
  }

  deinit { if unsafe !isOver { unsafe hub.leave(buffer, &batch, isMarked: marks.isOn) } }

  /// Returns the next payload; `nil` at the end, and if the task is cancelled.
  @inlinable @inline(__always) func next<Payload>(_: Payload.Type, isolation: isolated (any Actor)?) async -> Payload? {
    while true {
      if let payload = takeNext() { return payload.moved(to: Payload.self) }
      guard await fill(isolation: isolation) else { return nil }
    }
  }

  /// Returns the next payload, or the number of payloads that were dropped before it; `nil` at the
  /// end, and if the task is cancelled.
  @inlinable @inline(__always) func nextArrival<Payload>(_: Payload.Type, isolation: isolated (any Actor)?) async
    -> EventArrival<Payload>?
  {
    while true {
      if let missing = takeLag() { return .dropped(missing) }
      if let payload = takeNext(tellsLag: true) { return .payload(payload.moved(to: Payload.self)) }
      guard await fill(isolation: isolation) else { return nil }
    }
  }

  /// Returns the next payload, which the caller moves out; `nil` if the batch is empty, or no
  /// payload may be taken any more.
  ///
  /// If the loop receives batches, the payload is an array of all payloads that wait, up to the
  /// limit.
  ///
  /// - Parameter tellsLag: Whether the loop is told where payloads were dropped. Then a batch ends
  ///   there.
  @usableFromInline func takeNext(tellsLag: Bool = false) -> BorrowedPayload? {
    noteHandled()
    guard unsafe !batch.isEmpty, mayGoOn else { return nil }
    if let rule = hub.batch { return takeBatch(rule, tellsLag: tellsLag) }
    _ = unsafe batch.takeFirst()
    noteTaken()
    return unsafe batch.taken
  }

  /// Keeps the mark of a payload that the loop receives now.
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

  /// Calls `handled()` of the marks of the payloads that the loop received at its last request.
  /// Called when the loop requests the next payload, because it has handled those by then.
  @inline(__always) func noteHandled() {
    if unsafe !current.isEmpty { endCurrent() }
  }

  /// A loop whose task was cancelled, or whose handler was removed, may have been interrupted in
  /// its work before it came round. Then the marks are released, and a transport brings the
  /// payloads again.
  private func endCurrent() {
    let marks = takeMarks()
    guard mayGoOn else { return }
    for mark in marks { mark.handled() }
  }

  /// Takes out the marks of the payloads that the loop received at its last request, and may still
  /// be handling.
  func takeMarks() -> [any OccurrenceMark] {
    defer { unsafe current = [] }
    return unsafe current
  }

  /// Whether payloads may still be taken: not after a cancellation, or the removal of the handler.
  private var mayGoOn: Bool { !Task.isCancelled && record?.has(HandlerFlags.removed) != true }

  /// Takes out the number of dropped payloads; `nil` if there are none.
  @usableFromInline func takeLag() -> Int? {
    defer { unsafe lag = 0 }
    return unsafe lag > 0 ? lag : nil
  }

  /// Takes the next payloads from the buffer, and the count of payloads that were dropped before
  /// them. Waits if there is neither.
  ///
  /// - Returns: `false` at the end, if the task is cancelled, and if another task waits with this
  ///   iterator.
  @usableFromInline func fill(isolation: isolated (any Actor)?) async -> Bool {
    unsafe batch.recycle()
    // Spins first, as a lane does. The spin makes batches longer, and a sender that had to wake
    // this task would pay more than the spin costs.
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

  /// Returns the next payload that waits; `nil` if none waits now, or none may be taken any more.
  func nextNow<Payload>(_: Payload.Type) -> Payload? {
    while true {
      if let payload = takeNext() { return payload.moved(to: Payload.self) }
      guard refill() else { return nil }
    }
  }

  /// Takes the next payloads from the buffer, and the count of payloads that were dropped before
  /// them. Never waits.
  ///
  /// - Returns: `false` if there is neither now, or no more may be taken.
  func refill() -> Bool {
    unsafe batch.recycle()
    guard mayGoOn, case .something = unsafe hub.take(buffer, &batch, &marks, &lag) else { return false }
    return true
  }

  /// Suspends the task until there may be something to take.
  ///
  /// - Returns: `false` if another task waits with this iterator. Which of the two would receive a
  ///   payload would be arbitrary, so the second one is refused.
  private func wait(isolation: isolated (any Actor)?) async -> Bool {
    let (hub, buffer) = (hub, buffer)
    // `begin` also clears the cancellation that an earlier task of the iterator has left.
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

  /// Ends the iterator, and takes its buffer out of the hub.
  private func end() {
    unsafe isOver = true
    unsafe batch = PayloadQueue(hub.type)
    unsafe marks = MarkQueue()
    unsafe lag = 0
    if mutant(.cancelledLoopStays) { return }
    hub.drop(buffer)
  }
}
