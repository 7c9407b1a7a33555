import Eventing

/// A letter that a ``DeadLetterQueue`` holds. All deliveries of it get the same verdict.
final class HeldLetter: Sendable {
  private struct State: Sendable {
    var isInUse = false
    var verdict: Verdict?
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  let letter: RemoteDeadLetter
  private let state = Guarded(State())

  init(_ letter: RemoteDeadLetter) { self.letter = letter }

  /// Returns whether the caller may send or discard the letter: only if no other call has begun to.
  func begin() -> Bool {
    state.withLock { state in
      defer { state.isInUse = true }
      return !state.isInUse && state.verdict == nil
    }
  }

  func giveUp() { state.withLock { $0.isInUse = false } }

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
      return state.withLock { $0.verdict } ?? .release(after: .zero)
    }
  }
}

struct LetterDelivery: BegunMessage {
  let held: HeldLetter
  var verdict: Verdict { get async { await held.verdict } }
}
