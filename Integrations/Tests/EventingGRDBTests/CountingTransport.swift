import Eventing
import EventingTransport
import Synchronization

/// A transport that counts the calls of `publish`, and the calls that overlap.
final class CountingTransport: Transport {
  private let base: InMemoryTransport
  private let counts = Mutex((running: 0, largest: 0, all: 0))

  init(_ base: InMemoryTransport) { self.base = base }

  var largestOverlap: Int { counts.withLock { $0.largest } }
  var publishedCount: Int { counts.withLock { $0.all } }
  var identity: String { base.identity }
  var promises: TransportPromises { base.promises }
  var incidents: any EventSource<TransportIncident> { base.incidents }

  func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt {
    counts.withLock { counts in
      counts.all += 1
      counts.running += 1
      counts.largest = max(counts.largest, counts.running)
    }
    defer { counts.withLock { $0.running -= 1 } }
    for _ in 0..<5 { await Task.yield() }
    return try await base.publish(message, to: subject)
  }

  func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription { try await base.subscribe(subject, options, begin) }

  func request(_ message: RemoteMessage, to subject: String, within limit: Duration) async throws -> RemoteMessage {
    try await base.request(message, to: subject, within: limit)
  }

  func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription {
    try await base.respond(to: subject, group: group, inFlight: inFlight, answer)
  }
}
