import Eventing

/// The number of handled messages that a listening remembers, to skip repetitions.
public struct Deduplication: Hashable, Sendable {
  let count: Int

  /// No deduplication: repeated messages are handled, too.
  public static var none: Deduplication { Deduplication(count: 0) }
  /// Returns a window of ids. If a message has the id of one of the last `count` handled messages
  /// of its stream, it is acknowledged and not handled again. Ids of CloudEvents count as equal
  /// only if the sources are equal, too. The window belongs to this process, and is lost with it.
  ///
  /// - Parameter count: The number of ids. A number below 0 counts as 0.
  public static func last(_ count: Int) -> Deduplication { Deduplication(count: max(0, count)) }
}

/// The messages in hand, and handled ones.
///
/// A stream may deliver a message again while its handling goes on. A copy is not handled beside
/// the first delivery: a view with memory would take it for a repetition, or the copy would replace
/// its own message, and both count as handled.
final class SeenMessages: Sendable {
  enum Answer: Sendable { case new, inHand, handled }

  /// A message of a stream has a position. With a window of ids, an id stands for all messages that
  /// have it.
  private enum Key: Hashable, Sendable {
    case id(ExactText, streamMark: String)
    case position(UInt64, streamMark: String)

    /// Without the mark, which is the same for all messages but those of a stream that is made
    /// again.
    func hash(into hasher: inout Hasher) {
      switch self {
      case .id(let id, _): hasher.combine(id)
      case .position(let position, _): hasher.combine(position)
      }
    }
  }

  private struct State: Sendable {
    var inHand: Set<Key> = []
    var handled: Set<Key> = []
    /// A ring buffer. If it is full, the oldest one is at `next`.
    var ring: [Key] = []
    var next = 0
  }

  private let state = Guarded(State())
  private let limit: Int

  init(_ deduplication: Deduplication) { limit = deduplication.count }

  /// Returns the key by which a repetition is recognised; `nil` if there is none.
  private func key(of message: RemoteMessage) -> Key? {
    if limit > 0 { return .id(ExactText(message.identity), streamMark: message.streamMark) }
    return message.position.map { .position($0, streamMark: message.streamMark) }
  }

  /// Returns whether the message is new, is being handled, or was handled before.
  func begin(_ message: RemoteMessage) -> Answer {
    guard let key = key(of: message) else { return .new }
    return state.withLock { state in
      if state.handled.contains(key) { return .handled }
      return state.inHand.insert(key).inserted ? .new : .inHand
    }
  }

  func end(_ message: RemoteMessage, isHandled: Bool) {
    guard let key = key(of: message) else { return }
    state.withLock { state in
      state.inHand.remove(key)
      guard isHandled, limit > 0, state.handled.insert(key).inserted else { return }
      if state.ring.count < limit {
        state.ring.append(key)
      } else {
        state.handled.remove(state.ring[state.next])
        state.ring[state.next] = key
        state.next = (state.next + 1) % limit
      }
    }
  }
}
