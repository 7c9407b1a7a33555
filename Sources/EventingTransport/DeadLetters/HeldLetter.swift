import Eventing

/// A letter that a ``DeadLetterQueue`` holds. All deliveries of it get the same verdict.
final class HeldLetter: Sendable {
  private struct State: Sendable {
    var isInUse = false
    /// The queue was closed while the letter was in use.
    var isUnwanted = false
    var verdict: Verdict?
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  let letter: RemoteDeadLetter
  /// Counts up in each queue.
  let number: UInt64
  private let state = Guarded(State())

  init(_ letter: RemoteDeadLetter, number: UInt64) { (self.letter, self.number) = (letter, number) }

  /// Returns whether the caller may send or discard the letter: only if no other call has begun to.
  func begin() -> Bool {
    state.withLock { state in
      defer { state.isInUse = true }
      return !state.isInUse && state.verdict == nil
    }
  }

  /// The letter was not sent.
  func giveUp() {
    let isUnwanted = state.withLock { state in
      state.isInUse = false
      return state.isUnwanted
    }
    if isUnwanted { decide(HeldLetter.back) }
  }

  /// Gives the letter back, unless it is being sent: then its fate decides.
  func release() {
    let isInUse = state.withLock { state in
      state.isUnwanted = true
      return state.isInUse
    }
    if !isInUse { decide(HeldLetter.back) }
  }

  /// With a delay, because a server may redeliver a message at once to the subscription that is
  /// ending.
  static let back = Verdict.release(after: .milliseconds(100))

  func decide(_ verdict: Verdict) {
    let waiting = state.withLock { state in
      if state.verdict == nil { state.verdict = verdict }
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  var verdict: Verdict {
    get async {
      await withCheckedContinuation { continuation in
        let isDecided = state.withLock { state in
          if state.verdict == nil { state.waiting.append(continuation) }
          return state.verdict != nil
        }
        if isDecided { continuation.resume() }
      }
      return state.withLock { $0.verdict } ?? HeldLetter.back
    }
  }
}

struct LetterDelivery: BegunMessage {
  let held: HeldLetter
  var verdict: Verdict { get async { await held.verdict } }
}
