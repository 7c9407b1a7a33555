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
      guard await fill(isolation: isolation) else { return nil }
      unsafe batch.reverse()
    }
    return unsafe batch.popLast()
  }

  /// The same, and what is missing.
  @usableFromInline func nextArrival(isolation: isolated (any Actor)?) async -> Arrival<Payload>? {
    while unsafe batch.isEmpty || !mayGoOn {
      guard await fill(isolation: isolation) else { return nil }
      unsafe batch.reverse()
      if let missing = takeLag() { return .lagged(missing) }
    }
    return unsafe batch.popLast().map { .payload($0) }
  }

  /// If the handler was removed, nothing that waits is taken any more.
  @inlinable @inline(__always) var mayGoOn: Bool { !Task.isCancelled && record?.has(Bit.removed) != true }

  private func takeLag() -> Int? {
    defer { unsafe lag = 0 }
    return unsafe lag > 0 ? lag : nil
  }

  /// Waits until there is something to tell, and takes it, in order; false at the end.
  @usableFromInline func fill(isolation: isolated (any Actor)?) async -> Bool {
    // As a lane does: batches get longer, and waking a task again would cost a sender more.
    if !channel.isBounded, unsafe batch.capacity > 0 { Thread.spin(1_000) }
    while unsafe !isOver {
      guard mayGoOn else {
        end()
        break
      }
      if channel.buffering.suspendsSender { inlet.noteConsumer() }
      switch unsafe channel.take(inlet, &batch, &lag) {
      case .something: return true
      case .nothing: await sleep(isolation: isolation)
      case .end: end()
      }
    }
    return false
  }

  private func sleep(isolation: isolated (any Actor)?) async {
    let (channel, inlet) = (channel, inlet)
    channel.begin(inlet)  // another task may have been cancelled that had the iterator before
    await withTaskCancellationHandler {
      unsafe await withUnsafeContinuation { continuation in
        if unsafe !channel.park(inlet, continuation) { unsafe continuation.resume() }
      }
    } onCancel: {
      channel.cancel(inlet)
    }
  }

  private func end() {
    unsafe isOver = true
    unsafe batch = []
    unsafe lag = 0
    if mutant(.cancelledLoopStays) { return }
    channel.drop(inlet)
  }
}
