import Eventing

/// Gives each sender a number, which the sender keeps as long as it exists.
struct SenderNumbers {
  private struct Entry {
    weak var sender: (any AnyObject & Sendable)?
    let number: Int
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  private var last = 0
  /// The number of entries at which `number(of:_:)` removes those whose sender no longer exists,
  /// before it adds another entry.
  private var limit = 64

  /// Returns the number of a sender.
  ///
  /// - Parameters:
  ///   - sender: The sender, which the caller retains.
  ///   - loaded: Receives each sender that this method has read from a weak reference, and so
  ///     retained. The caller, which holds a mutex, releases these senders after the unlock: the
  ///     last release of a sender runs its deinitializer, which must not run under a mutex.
  mutating func number(of sender: any AnyObject & Sendable, _ loaded: inout [any AnyObject & Sendable]) -> Int {
    let id = ObjectIdentifier(sender)
    // Another sender, which is gone, may have had the address.
    if let entry = entries[id], let known = entry.sender {
      loaded.append(known)
      return entry.number
    }
    if entries.count >= limit { removeGone(&loaded) }
    last += 1
    entries[id] = Entry(sender: sender, number: last)
    return last
  }

  private mutating func removeGone(_ loaded: inout [any AnyObject & Sendable]) {
    entries = entries.filter { entry in
      guard let sender = entry.value.sender else { return false }
      loaded.append(sender)
      return true
    }
    limit = max(64, entries.count * 2)
  }
}

/// For each recent call, the number of the recorded occurrence that it handles. In the file, that
/// occurrence is the cause of each post that the call makes.
///
/// At least the last 500,000 occurrences and the last 500,000 calls are known. A cause may be lost
/// in two cases: more than 500,000 occurrences begin between an occurrence and a call that handles
/// it, or more than 500,000 calls begin between that call and the delivery of its post.
struct CauseNumbers {
  private struct Occurrence: Hashable {
    let event: UInt64
    let sequence: UInt64
  }

  private var occurrences = RecentValues<Occurrence, Int>(limit: 500_000)
  private var calls = RecentValues<UInt64, Int>(limit: 500_000)

  mutating func began(_ occurrence: TracedOccurrence, as number: Int) {
    occurrences[Occurrence(event: occurrence.event.number, sequence: occurrence.sequence)] = number
  }

  mutating func began(_ call: TracedCall) {
    guard let number = occurrences[Occurrence(event: call.eventNumber, sequence: call.sequence)] else { return }
    calls[call.number] = number
  }

  func cause(of occurrence: TracedOccurrence) -> Int? { occurrence.cause == 0 ? nil : calls[occurrence.cause] }
}

/// A dictionary that forgets what was set long ago: it keeps the last `limit` values at least, and
/// twice as many at most. Each access is O(1), amortized.
private struct RecentValues<Key: Hashable, Value> {
  private let limit: Int
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]

  init(limit: Int) { self.limit = limit }

  subscript(key: Key) -> Value? {
    get { young[key] ?? old[key] }
    set {
      if young.count >= limit {
        old = young
        young = [:]
      }
      young[key] = newValue
    }
  }
}
