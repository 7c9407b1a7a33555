import Eventing
import Synchronization

/// A send does not wait for loops. So each sequence that the message reaches gets a mark with the
/// payload. If the loop asks for the next element, it has handled the message. If it ends earlier,
/// or a buffer is full, the mark is released: it is *lost*. The verdict on the message waits until
/// all marks have ended.
final class LoopAccount: Sendable {
  struct State: Sendable {
    /// The number of marks that have not ended: the loop has not asked for the next element, and
    /// the mark was not released.
    var open = 0
    /// A mark was released before its loop asked for the next element.
    var hasLost = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Guarded(State())

  func mark() -> LoopMark {
    state.withLock { $0.open += 1 }
    return LoopMark(self)
  }

  /// Whether all loops have asked for the element after the message; `nil` until the mark of each
  /// loop has ended. A mark ends when its loop asks for the next element, or when it is released
  /// without that. After the delivery no mark is added, so a result that is not `nil` stays.
  var outcome: Bool? { state.withLock { $0.open == 0 ? !$0.hasLost : nil } }

  /// Returns whether all loops have asked for the next element.
  func wait() async -> Bool {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.open > 0 { state.waiter = continuation }
        return state.open == 0
      }
      if isOver { continuation.resume() }
    }
    return state.withLock { !$0.hasLost }
  }

  fileprivate func end(isLost: Bool) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.open -= 1
      if isLost { state.hasLost = true }
      guard state.open == 0 else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }
}

/// Lost if it is released before ``handled()`` was called for each share.
final class LoopMark: OccurrenceMark {
  private let account: LoopAccount
  /// Buffers whose loop has not handled the message.
  private let shares = Atomic(1)

  fileprivate init(_ account: LoopAccount) { self.account = account }

  deinit { if shares.load(ordering: .acquiring) > 0 { account.end(isLost: true) } }

  func share() { shares.wrappingAdd(1, ordering: .relaxed) }

  func handled() {
    if shares.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { account.end(isLost: false) }
  }
}
