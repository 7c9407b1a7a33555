import Synchronization

/// What an iterator has: its inlet, and what it has taken from there.
///
/// Used by one task at a time, as iterators are.
@usableFromInline final class Reader<Payload: Sendable> {
  private let channel: Channel<Payload>
  private let inlet: Inlet<Payload>
  /// What it has taken, the next one last: so each is moved out when it is its turn.
  @usableFromInline var batch: ContiguousArray<Payload> = []
  @usableFromInline var isOver = false

  @usableFromInline init(_ channel: Channel<Payload>) {
    self.channel = channel
    inlet = channel.makeInlet()
  }

  deinit { if !isOver { channel.drop(inlet) } }

  /// The next payload; nil at the end, and if the task is cancelled.
  @inlinable @inline(__always) func next(isolation: isolated (any Actor)?) async -> Payload? {
    if !batch.isEmpty, mayGoOn { return batch.popLast() }
    while true {
      switch await nextArrival(isolation: isolation) {
      case .payload(let payload): return payload
      case .lagged: continue
      case nil: return nil
      }
    }
  }

  @usableFromInline var mayGoOn: Bool { !Task.isCancelled && !channel.isRemoved.load(ordering: .acquiring) }

  /// What was dropped directly before ``pending``, or the payload.
  private var pending: Payload?

  /// The same, and what is missing.
  @usableFromInline func nextArrival(isolation: isolated (any Actor)?) async -> Arrival<Payload>? {
    while !isOver {
      guard mayGoOn else {
        end()
        break
      }
      if let payload = pending.take() ?? batch.popLast() { return .payload(payload) }
      if channel.buffering.suspendsSender { inlet.noteConsumer() }
      switch channel.take(inlet, &batch) {
      case .item(let payload, 0): return .payload(payload)
      case .item(let payload, let lag):
        pending = payload
        return .lagged(lag)
      case .lag(let lag): return .lagged(lag)
      case .items: batch.reverse()
      case .nothing: await sleep(isolation: isolation)
      case .end: end()
      }
    }
    return nil
  }

  private func sleep(isolation: isolated (any Actor)?) async {
    let (channel, inlet) = (channel, inlet)
    await withTaskCancellationHandler {
      unsafe await withUnsafeContinuation { continuation in
        if unsafe !channel.park(inlet, continuation) { unsafe continuation.resume() }
      }
    } onCancel: {
      channel.cancel(inlet)
    }
  }

  private func end() {
    isOver = true
    batch = []
    pending = nil
    channel.drop(inlet)
  }
}
