/// What an iterator has: its inlet, and what it has taken from there.
///
/// Used by one task at a time, as iterators are.
@usableFromInline final class Reader<Payload: Sendable> {
  @usableFromInline let channel: Channel<Payload>
  private let inlet: Inlet<Payload>
  /// Of the handler: what is asked for each payload, so it is not looked up in the channel, which those who send write to.
  @usableFromInline let record: Record?
  /// What it has taken, the next one last: so each is moved out when it is its turn.
  @usableFromInline @exclusivity(unchecked) var batch: ContiguousArray<Payload> = []
  /// What was dropped directly before that.
  @usableFromInline @exclusivity(unchecked) var lag = 0
  @exclusivity(unchecked) private var isOver = false

  @usableFromInline init(_ channel: Channel<Payload>) {
    self.channel = channel
    inlet = channel.makeInlet()
    record = channel.recordReference.load()
  }

  deinit { if unsafe !isOver { channel.drop(inlet) } }

  /// The next payload; nil at the end, and if the task is cancelled.
  @inlinable @inline(__always) func next(isolation: isolated (any Actor)?) async -> Payload? {
    while unsafe batch.isEmpty || !mayGoOn {
      guard let isNew = await fill(isolation: isolation) else { return nil }
      if isNew { unsafe batch.reverse() }
    }
    let payload = unsafe batch.popLast()
    if unsafe batch.isEmpty { giveBackRoom() }
    return payload
  }

  /// A flood leaves no buffer behind. The next one is made by the senders.
  @inlinable @inline(__always) func giveBackRoom() {
    if unsafe batch.capacity > 2 * Flood.limit { unsafe batch = [] }
  }

  /// The same, and what is missing.
  @usableFromInline func nextArrival(isolation: isolated (any Actor)?) async -> Arrival<Payload>? {
    while unsafe batch.isEmpty || !mayGoOn {
      guard let isNew = await fill(isolation: isolation) else { return nil }
      if isNew { unsafe batch.reverse() }
      if let missing = takeLag() { return .lagged(missing) }
    }
    let payload = unsafe batch.popLast()
    if unsafe batch.isEmpty { giveBackRoom() }
    return payload.map { .payload($0) }
  }

  /// If the handler was removed, nothing that waits is taken any more.
  @inlinable @inline(__always) var mayGoOn: Bool { !Task.isCancelled && record?.has(Bit.removed) != true }

  private func takeLag() -> Int? {
    defer { unsafe lag = 0 }
    return unsafe lag > 0 ? lag : nil
  }

  /// Waits until there is something to tell, and takes it, in order.
  ///
  /// - Returns: whether that was taken now; false if another task did so meanwhile. Nil at the end.
  @usableFromInline func fill(isolation: isolated (any Actor)?) async -> Bool? {
    // As a lane does: batches get longer, and waking a task again would cost a sender more.
    if !channel.isBounded, unsafe batch.capacity > 0 { Thread.spin(1_000) }
    while unsafe !isOver {
      guard mayGoOn else {
        end()
        break
      }
      if unsafe !batch.isEmpty { return false }
      if channel.buffering.suspendsSender { inlet.noteConsumer() }
      switch unsafe channel.take(inlet, &batch, &lag) {
      case .something: return true
      case .nothing: guard await sleep(isolation: isolation) else { return nil }
      case .end: end()
      }
    }
    return nil
  }

  /// False if another task waits with this iterator: the second one is refused, since nobody could say which of them gets what.
  private func sleep(isolation: isolated (any Actor)?) async -> Bool {
    let (channel, inlet) = (channel, inlet)
    // Also forgets that another task was cancelled that had the iterator before.
    guard channel.begin(inlet) else {
      Warning.tell(
        "expected one task at a time to ask an iterator of \(Payload.self); another task waits for its next payload. This one is told nil.")
      return false
    }
    await withTaskCancellationHandler {
      unsafe await withUnsafeContinuation { continuation in
        if unsafe !channel.park(inlet, continuation) { unsafe continuation.resume() }
      }
    } onCancel: {
      channel.cancel(inlet)
    }
    return true
  }

  private func end() {
    unsafe isOver = true
    unsafe batch = []
    unsafe lag = 0
    if mutant(.cancelledLoopStays) { return }
    channel.drop(inlet)
  }
}
