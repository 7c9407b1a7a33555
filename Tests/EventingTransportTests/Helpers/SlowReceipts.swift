import Eventing
import EventingTesting
import EventingTransport

/// An engine whose receipts take a second. `entering` says when the engine calls the closure
/// `entered` of a message: when it has stored that message, when it has stored the next one, or
/// never.
struct SlowReceipts: Transport {
  enum Entering: Sendable { case says, saysNothing, saysLate }

  let base: InMemoryTransport
  let clock: ManualClock
  var entering = Entering.says
  /// The body of a message that the engine stores, but for which `publish` throws an error in place
  /// of a receipt.
  var refused: [UInt8]?
  let counts = Guarded((now: 0, most: 0))
  private let last = Guarded<@Sendable () -> Void>({})

  init(_ base: InMemoryTransport, _ clock: ManualClock, _ entering: Entering = .says, refusing refused: [UInt8]? = nil)
  {
    (self.base, self.clock, self.entering, self.refused) = (base, clock, entering, refused)
  }

  var identity: String { base.identity }
  var promises: TransportPromises { base.promises }
  var incidents: any EventSource<TransportIncident> { base.incidents }
  /// The largest number of messages that waited for a receipt at one time.
  var mostWaiting: Int { counts.withLock { $0.most } }

  func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt {
    try await publish(message, to: subject) {}
  }

  func publish(
    _ message: RemoteMessage, to subject: String, entered: @escaping @Sendable () -> Void
  ) async throws -> Receipt {
    counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
    defer { counts.withLock { $0.now -= 1 } }
    // If several calls of `publish` run at one time, their messages may overtake each other here.
    for _ in 0..<(message.body.last ?? 0) % 4 { await Task.yield() }
    let receipt = try await base.publish(message, to: subject)
    switch entering {
    case .says: entered()
    case .saysNothing: break
    case .saysLate:
      let earlier = last.withLock { last in
        defer { last = entered }
        return last
      }
      earlier()
    }
    try? await clock.sleep(for: .seconds(1))
    if message.body == refused { throw TransportError(.mayBeStored, "expected a receipt, got none") }
    return receipt
  }

  func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription {
    try await base.subscribe(subject, options, begin)
  }

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
