/// What an iterator has: its buffer, and what it has taken from there.
///
/// Used by one task at a time, as iterators are.
@usableFromInline final class SequenceReader {
  @usableFromInline let hub: SequenceHub
  private let buffer: IteratorBuffer
  /// Of the handler: what is asked for each payload, so it is not looked up in the hub, which those who send write to.
  @usableFromInline let record: HandlerRecord?
  /// What it has taken.
  @exclusivity(unchecked) private var batch: PayloadQueue<PayloadAlone>
  /// It has taken something before.
  @exclusivity(unchecked) private var hasBegun = false
  /// What was dropped directly before that.
  @exclusivity(unchecked) private var lag = 0
  @exclusivity(unchecked) private var isOver = false

  @usableFromInline init(_ hub: SequenceHub) {
    self.hub = hub
    buffer = hub.makeBuffer()
    unsafe batch = PayloadQueue(hub.type)
    record = hub.recordReference.load()
  }

  deinit { if unsafe !isOver { hub.drop(buffer) } }

  /// The next payload; nil at the end, and if the task is cancelled.
  @inlinable @inline(__always) func next<Payload>(_: Payload.Type, isolation: isolated (any Actor)?) async -> Payload? {
    while true {
      if let payload = unsafe takeNext() { return unsafe payload.assumingMemoryBound(to: Payload.self).move() }
      guard await fill(isolation: isolation) else { return nil }
    }
  }

  /// The next payload, or how many are missing before it.
  @inlinable @inline(__always) func nextArrival<Payload>(_: Payload.Type, isolation: isolated (any Actor)?) async
    -> Arrival<Payload>?
  {
    while true {
      if let payload = unsafe takeNext() {
        return unsafe .payload(payload.assumingMemoryBound(to: Payload.self).move())
      }
      guard await fill(isolation: isolation) else { return nil }
      if let missing = takeLag() { return .lagged(missing) }
    }
  }

  /// The address of the next payload, for the caller to move it out; nil if there is none yet, or none may be taken.
  @usableFromInline func takeNext() -> UnsafeMutableRawPointer? {
    guard unsafe !batch.isEmpty, mayGoOn else { return nil }
    _ = unsafe batch.takeFirst()
    return unsafe UnsafeMutableRawPointer(mutating: batch.taken.address)
  }

  /// If the handler was removed, nothing that waits is taken any more.
  private var mayGoOn: Bool { !Task.isCancelled && record?.has(HandlerFlags.removed) != true }

  @usableFromInline func takeLag() -> Int? {
    defer { unsafe lag = 0 }
    return unsafe lag > 0 ? lag : nil
  }

  /// Waits until there is something to tell, and takes it, in order.
  ///
  /// - Returns: false at the end.
  @usableFromInline func fill(isolation: isolated (any Actor)?) async -> Bool {
    unsafe batch.recycle()
    // As a lane does: batches get longer, and waking a task again would cost a sender more.
    if !hub.isBounded, unsafe hasBegun { Thread.spin(Thread.spinLimit) }
    unsafe hasBegun = true
    while unsafe !isOver {
      guard mayGoOn else {
        end()
        break
      }
      if unsafe !batch.isEmpty { return true }
      if hub.buffering.suspendsSender { buffer.noteConsumer() }
      switch unsafe hub.take(buffer, &batch, &lag) {
      case .something: return true
      case .nothing: guard await sleep(isolation: isolation) else { return false }
      case .end: end()
      }
    }
    return false
  }

  /// False if another task waits with this iterator: the second one is refused, since nobody could say which of them gets what.
  private func sleep(isolation: isolated (any Actor)?) async -> Bool {
    let (hub, buffer) = (hub, buffer)
    // Also forgets that another task was cancelled that had the iterator before.
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
    unsafe lag = 0
    if mutant(.cancelledLoopStays) { return }
    hub.drop(buffer)
  }
}
