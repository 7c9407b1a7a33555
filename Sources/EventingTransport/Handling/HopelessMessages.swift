import Eventing

/// Given up, but the dead letter is not stored yet. The engine redelivers such a message, so that
/// the dead letter is published again, and no handler sees it.
final class HopelessMessages: Sendable {
  struct Entry: Sendable {
    var reason: String
    var handler: String?
    /// Attempts in which handlers saw the message.
    var attempts: Int
    /// Failed attempts to publish the dead letter.
    var tries: Int
  }

  private struct Key: Hashable, Sendable {
    let id: ExactText
    let position: UInt64?
    let streamMark: String

    init(_ message: RemoteMessage) {
      id = ExactText(message.identity)
      (position, streamMark) = (message.position, message.streamMark)
    }
  }

  /// Messages beyond this limit are not recorded, so handlers may see them again.
  private static let limit = 65_536
  private let entries = Guarded<[Key: Entry]>([:])

  func entry(for message: RemoteMessage) -> Entry? {
    entries.withLock { $0.isEmpty ? nil : $0[Key(message)] }
  }

  /// Returns the number of failed attempts to publish; for an unrecorded message, of its
  /// deliveries.
  func note(_ message: RemoteMessage, _ reason: String, _ handler: String?) -> Int {
    entries.withLock { entries in
      let key = Key(message)
      guard var entry = entries[key] else {
        guard entries.count < HopelessMessages.limit else { return max(1, message.attempt) }
        entries[key] = Entry(reason: reason, handler: handler, attempts: message.attempt, tries: 1)
        return 1
      }
      entry.tries += 1
      entries[key] = entry
      return entry.tries
    }
  }

  func remove(_ message: RemoteMessage) {
    entries.withLock { entries in
      if !entries.isEmpty { entries[Key(message)] = nil }
    }
  }
}
