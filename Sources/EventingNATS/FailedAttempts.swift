#if NATS
  import Eventing

  /// The server also counts deliveries that are no failures: a member gave the message back,
  /// or died. If all of them counted, the first error of a handler could make a message a dead
  /// letter. So each process counts the failures that it sees.
  final class FailedAttempts: Sendable {
    private struct Key: Hashable, Sendable {
      let consumer: String
      let position: UInt64
    }

    private struct Entry: Sendable {
      var count: Int
      /// Entries are numbered in the order in which they were made.
      let number: UInt64
    }

    private struct State: Sendable {
      var entries: [Key: Entry] = [:]
      /// Keys in the order of their entries, some of which may have been removed.
      var order = Deque<(key: Key, number: UInt64)>()
      var last: UInt64 = 0

      func isThere(_ item: (key: Key, number: UInt64)) -> Bool { entries[item.key]?.number == item.number }

      mutating func removeOldest() {
        while let oldest = order.popFirst() {
          guard isThere(oldest) else { continue }
          entries[oldest.key] = nil
          return
        }
      }
    }

    /// Beyond this limit, the oldest entries are forgotten.
    static let limit = 65_536
    private let state = Guarded(State())

    func add(_ consumer: String, _ position: UInt64) {
      let key = Key(consumer: consumer, position: position)
      state.withLock { state in
        if state.entries[key] != nil {
          state.entries[key]?.count += 1
          return
        }
        if state.entries.count >= FailedAttempts.limit { state.removeOldest() }
        state.last += 1
        state.entries[key] = Entry(count: 1, number: state.last)
        state.order.append((key, state.last))
        guard state.order.count > 2 * FailedAttempts.limit else { return }
        var order = Deque<(key: Key, number: UInt64)>()
        while let item = state.order.popFirst() { if state.isThere(item) { order.append(item) } }
        state.order = order
      }
    }

    func remove(_ consumer: String, _ position: UInt64) {
      state.withLock { state in
        if !state.entries.isEmpty { state.entries[Key(consumer: consumer, position: position)] = nil }
      }
    }

    func removeAll(_ consumer: String) {
      state.withLock { state in state.entries = state.entries.filter { $0.key.consumer != consumer } }
    }

    func count(_ consumer: String, _ position: UInt64) -> Int {
      state.withLock { state in
        state.entries.isEmpty ? 0 : state.entries[Key(consumer: consumer, position: position)]?.count ?? 0
      }
    }

    var keyCount: Int { state.withLock { $0.order.count } }
  }
#endif
