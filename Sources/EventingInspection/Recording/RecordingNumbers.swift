import Eventing

/// A sender keeps its number as long as it exists.
struct SenderNumbers {
  private struct Entry {
    weak var sender: (any AnyObject & Sendable)?
    let number: Int
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  private var last = 0
  /// At this number of entries, those whose sender is gone are removed.
  private var limit = 64

  /// - Parameter loaded: Receives senders that were read from weak references. The caller releases
  ///   them after the unlock, because a `deinit` must not run under a mutex.
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

/// The occurrence that a recent call handles: the cause of the call's posts. At least the last
/// 500,000 occurrences and calls are known, so a cause is lost only if as many begin in between.
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

/// Keeps the last `limit` values at least, and twice as many at most. O(1), amortized.
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
