import Eventing

/// The number of handled messages that a listening remembers, to skip repetitions.
public struct Deduplication: Hashable, Sendable {
  let count: Int

  /// No deduplication: repeated messages are handled, too.
  public static var none: Deduplication { Deduplication(count: 0) }
  /// Returns a window of ids. If a message has the id of one of the last `count` handled messages,
  /// it is acknowledged and not handled again. Ids of CloudEvents count as equal only if the
  /// sources are equal, too. The window belongs to this process, and is lost with it.
  ///
  /// - Parameter count: The number of ids. A number below 0 counts as 0.
  public static func last(_ count: Int) -> Deduplication { Deduplication(count: max(0, count)) }
}

/// The ids of the messages that a listening has handled or is handling.
final class SeenMessages: Sendable {
  enum Answer: Sendable { case new, inHand, handled }

  struct State: Sendable {
    var inHand: Set<ExactText> = []
    var handled: Set<ExactText> = []
    /// The handled ids as a ring buffer. If it is full, the oldest id is at `next`.
    var ring: [ExactText] = []
    var next = 0
  }

  private let state = Guarded(State())
  private let limit: Int

  /// Creates an empty record. Returns `nil` if `deduplication` remembers no ids.
  init?(_ deduplication: Deduplication) {
    guard deduplication.count > 0 else { return nil }
    limit = deduplication.count
  }

  /// Records that a message is being handled, unless it is a repetition. Returns whether it is new,
  /// is being handled already, or was handled before.
  func begin(_ id: String) -> Answer {
    let id = ExactText(id)
    return state.withLock { state in
      if state.handled.contains(id) { return .handled }
      return state.inHand.insert(id).inserted ? .new : .inHand
    }
  }

  /// Records the end of the handling of a message for which ``begin(_:)`` returned `new`.
  func end(_ id: String, isHandled: Bool) {
    let id = ExactText(id)
    state.withLock { state in
      state.inHand.remove(id)
      guard isHandled, state.handled.insert(id).inserted else { return }
      if state.ring.count < limit {
        state.ring.append(id)
      } else {
        state.handled.remove(state.ring[state.next])
        state.ring[state.next] = id
        state.next = (state.next + 1) % limit
      }
    }
  }
}
