import Eventing

/// The number of messages that a listening remembers, to leave out repetitions.
public struct Deduplication: Hashable, Sendable {
  let count: Int

  /// Every message is handled, also one that comes again.
  public static var none: Deduplication { Deduplication(count: 0) }
  /// Returns a window: a message whose id is that of one of the last handled messages is
  /// acknowledged, and not handled again. Two CloudEvents are the same message only if their
  /// sources are equal, too. The window belongs to one process, and ends with it.
  ///
  /// - Parameter count: The number of ids. A number below 0 counts as 0.
  public static func last(_ count: Int) -> Deduplication { Deduplication(count: max(0, count)) }
}

/// The ids of the messages that a listening has handled, or has in hand.
final class SeenMessages: Sendable {
  enum Answer: Sendable { case new, inHand, handled }

  struct State: Sendable {
    var inHand: Set<String> = []
    var handled: Set<String> = []
    /// The handled ids as a ring, the oldest at `next` once it is full.
    var ring: [String] = []
    var next = 0
  }

  private let state = Guarded(State())
  private let limit: Int

  /// `nil` for a window of no messages.
  init?(_ deduplication: Deduplication) {
    guard deduplication.count > 0 else { return nil }
    limit = deduplication.count
  }

  /// Notes that a message is in hand, if it is new.
  func begin(_ id: String) -> Answer {
    state.withLock { state in
      if state.handled.contains(id) { return .handled }
      return state.inHand.insert(id).inserted ? .new : .inHand
    }
  }

  /// Notes the end of the handling of a message that was new.
  func end(_ id: String, isHandled: Bool) {
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
