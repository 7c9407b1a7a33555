import Eventing
import EventingTransport

/// A record of the messages that an engine has delivered to a subscription: the engine calls
/// ``begin(_:)`` with each. The log also gives each message its verdict.
final class MessageLog: Sendable {
  struct State: Sendable {
    var messages: [RemoteMessage] = []
    /// The messages that are held back: those without a verdict.
    var open: [HeldMessage] = []
    var mostOpen = 0
    var isHolding = false
  }

  private let state = Guarded(State())
  /// Returns the verdict on a message. The log calls this closure in `begin`, as soon as the engine
  /// delivers the message. If the log holds messages back, it calls the closure later, in
  /// `decideOne()` or `decideAll()`.
  private let judge: @Sendable (RemoteMessage) -> Verdict

  init(isHolding: Bool = false, _ judge: @escaping @Sendable (RemoteMessage) -> Verdict = { _ in .done }) {
    self.judge = judge
    state.withLock { $0.isHolding = isHolding }
  }

  var messages: [RemoteMessage] { state.withLock { state in state.messages.map { message in message } } }
  /// The bodies as numbers; -1 for a body that is not a number.
  var numbers: [Int] { messages.map { Int(String(decoding: $0.body, as: UTF8.self)) ?? -1 } }
  var count: Int { state.withLock { $0.messages.count } }
  /// The largest number of messages that were without a verdict at one time.
  var mostOpen: Int { state.withLock { $0.mostOpen } }

  func begin(_ message: RemoteMessage) -> any BegunMessage {
    let held = HeldMessage(message)
    let isHeld = state.withLock { state in
      state.messages.append(message)
      if state.isHolding { state.open.append(held) }
      state.mostOpen = max(state.mostOpen, state.open.count)
      return state.isHolding
    }
    if !isHeld { held.decide(judge(message)) }
    return held
  }

  /// Gives a verdict, the one of the log's `judge`, to the first message that is held back. Returns
  /// false if no message is held back.
  @discardableResult func decideOne() -> Bool {
    let held = state.withLock { $0.open.isEmpty ? nil : $0.open.removeFirst() }
    if let held { held.decide(judge(held.message)) }
    return held != nil
  }

  /// Gives a verdict, the one of the log's `judge`, to each message that is held back. Later
  /// messages are not held back.
  func decideAll() {
    state.withLock { $0.isHolding = false }
    while decideOne() {}
  }
}

/// A delivered message that has no verdict until the log calls `decide`.
final class HeldMessage: BegunMessage {
  struct State: Sendable {
    var verdict: Verdict?
    var waiter: CheckedContinuation<Void, Never>?
  }

  let message: RemoteMessage
  private let state = Guarded(State())

  init(_ message: RemoteMessage) { self.message = message }

  func decide(_ verdict: Verdict) {
    let waiter = state.withLock { state in
      state.verdict = verdict
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  var knownVerdict: Verdict? { state.withLock { $0.verdict } }

  var verdict: Verdict {
    get async {
      await withCheckedContinuation { continuation in
        let isKnown = state.withLock { state in
          if state.verdict == nil { state.waiter = continuation }
          return state.verdict != nil
        }
        if isKnown { continuation.resume() }
      }
      return knownVerdict ?? .done
    }
  }
}
