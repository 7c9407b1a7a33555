#if NATS
  import Eventing

  /// The deliveries that were returned to the server without a failure of a handler.
  ///
  /// The server counts deliveries, not failures. So the number of an attempt is the server's count
  /// without these deliveries. Deliveries that other processes have returned are unknown here, and
  /// count as attempts.
  final class ReleasedDeliveries: Sendable {
    private struct Key: Hashable, Sendable {
      let consumer: String
      let position: UInt64
    }

    /// The largest number of recorded messages.
    private static let limit = 65_536
    private let counts = Guarded<[Key: Int]>([:])

    func add(_ consumer: String, _ position: UInt64) {
      counts.withLock { counts in
        if counts.count >= ReleasedDeliveries.limit { counts = [:] }
        counts[Key(consumer: consumer, position: position), default: 0] += 1
      }
    }

    func remove(_ consumer: String, _ position: UInt64) {
      counts.withLock { counts in
        if !counts.isEmpty { counts[Key(consumer: consumer, position: position)] = nil }
      }
    }

    func count(_ consumer: String, _ position: UInt64) -> Int {
      counts.withLock { $0.isEmpty ? 0 : $0[Key(consumer: consumer, position: position)] ?? 0 }
    }
  }
#endif
