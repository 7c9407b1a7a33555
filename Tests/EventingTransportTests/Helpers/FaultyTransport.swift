import Eventing
import EventingTransport

/// An engine that breaks one promise, or none if `fault` is `nil`. For each message it awaits
/// `verdict`, even if `knownVerdict` already has the verdict. The protocol allows this.
struct FaultyTransport: Transport {
  enum Fault: Sendable {
    // Faults of the messages that arrive.
    case swallowsAll, swallows(Int), beginsTwice, changesBody, changesSubject, changesHeaders, changesIDs
    case hasNoPositions, countsDouble, countsNothing
    // Faults of a subscription.
    case hasNoBound, isAlwaysReady, neverLooksAgain, hasNoGroups, refusesGroups, forgetsGroups, startsAt(StartPosition)
    case takesAllWords, retriesRejected, neverEnds, speaksAfterTheEnd, miscounts
    // Faults of publishing.
    case acceptsAnything, refuses(Int), loses(Int), hasNoReceipts, makesNewIDs, entersEarly, isSilent
    // Faults of requests.
    case repliesWithoutResponder, changesReplies, hasNoTimeLimit
    // Faults of connections. `neverCloses`: `close` does nothing. `staysOpen`: `close` drains the
    // subscriptions, but leaves the connection open. `neverVanishes`: `vanish` does nothing.
    // Faults after a restart of the engine. The number is that of the first message after the
    // restart. From this message on, the subscriber gets no message (`swallowsFrom`), or each
    // message twice (`beginsTwiceFrom`).
    case neverCloses, staysOpen, neverVanishes, swallowsFrom(Int), beginsTwiceFrom(Int)
  }

  /// The subscriptions of one connection to the engine.
  final class Connection: Sendable {
    fileprivate let subscriptions = Guarded<[FaultySubscription]>([])
    let isClosed = Guarded(false)
  }

  let base: InMemoryTransport
  let fault: Fault?
  var promises: TransportPromises
  private(set) var connection = Connection()

  init(_ base: InMemoryTransport, _ fault: Fault? = nil) {
    self.base = base
    self.fault = fault
    promises = base.promises
  }

  var identity: String { base.identity }
  var incidents: any EventSource<TransportIncident> {
    if case .isSilent = fault { return Event<TransportIncident>("incidents") }
    return base.incidents
  }

  func backlog(of subject: String, in group: String) async throws -> Backlog {
    var backlog = try await base.backlog(of: subject, in: group)
    if case .miscounts = fault { backlog.inHand += 1 }
    return backlog
  }

  /// Returns a transport to the engine `base` with a new connection, as if another process had
  /// connected.
  func connectedAgain() -> FaultyTransport {
    var other = self
    other.connection = Connection()
    return other
  }

  /// Closes the connection: drains its subscriptions.
  func close(within limit: Duration) async {
    if case .neverCloses = fault { return }
    for subscription in connection.subscriptions.withLock({ $0.map { $0 } }) { await subscription.drain(within: limit) }
    if case .staysOpen = fault { return }
    connection.isClosed.withLock { $0 = true }
  }

  /// Cuts the connection, as the death of its process does.
  func vanish() {
    if case .neverVanishes = fault { return }
    for subscription in connection.subscriptions.withLock({ $0.map { $0 } }) { subscription.cancel() }
  }

  func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt {
    if connection.isClosed.withLock({ $0 }) { throw TransportError(.closed, "expected an open connection") }
    var message = message
    let number = Int(String(decoding: message.body.prefix(8), as: UTF8.self))
    switch fault {
    case .acceptsAnything: message.body = Array(message.body.prefix(base.promises.largestPayload))
    case .refuses(number): throw TransportError(.refused, "expected another message than \(message.body)")
    case .loses(number): return Receipt(position: 1)
    case .makesNewIDs: message.id = RemoteMessage().id
    default: break
    }
    let receipt = try await base.publish(message, to: subject)
    if case .hasNoReceipts = fault { return Receipt(isDuplicate: receipt.isDuplicate) }
    return receipt
  }

  func publish(
    _ message: RemoteMessage, to subject: String, entered: @escaping @Sendable () -> Void
  ) async throws -> Receipt {
    if case .entersEarly = fault {
      entered()
      for _ in 0..<(message.body.last ?? 0) % 4 { await Task.yield() }
    }
    return try await publish(message, to: subject)
  }

  func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription {
    var (subject, options) = (subject, options)
    switch fault {
    case .hasNoBound: options.inFlight = 256
    case .isAlwaysReady: options.isReady = { true }
    case .hasNoGroups: options.group = nil
    case .refusesGroups where options.group != nil:
      throw TransportError(.notPromised, "expected no group, got \(options.group ?? "")")
    case .forgetsGroups: options.group = options.group.map { "\($0)-\(RemoteMessage().id)" }
    case .startsAt(let start): options.start = start
    case .takesAllWords where subject.hasSuffix("*"): subject = subject.dropLast() + ">"
    default: break
    }
    let last = Guarded<RemoteMessage?>(nil)
    let faulty = FaultySubscription(fault) { if let message = last.withLock({ $0 }) { _ = begin(message) } }
    let base = try await base.subscribe(subject, options) { [fault] message in
      _ = last.withLock { last in
        defer { last = message }
        return last
      }
      guard let changed = change(message) else { return AwaitedMessage(base: nil) }
      if case .beginsTwice = fault { _ = begin(changed) }
      if case .beginsTwiceFrom(let first) = fault, number(of: message) >= first { _ = begin(changed) }
      var awaited = AwaitedMessage(base: begin(changed))
      if case .retriesRejected = fault { awaited.retriesRejected = true }
      return awaited
    }
    faulty.base.withLock { $0 = base }
    connection.subscriptions.withLock { $0.append(faulty) }
    return faulty
  }

  private func number(of message: RemoteMessage) -> Int {
    Int(String(decoding: message.body.prefix(8), as: UTF8.self)) ?? -1
  }

  /// Returns the message that the subscriber gets under the fault; `nil` if it gets none.
  private func change(_ message: RemoteMessage) -> RemoteMessage? {
    var message = message
    let number = Int(String(decoding: message.body.prefix(8), as: UTF8.self))
    switch fault {
    case .swallowsAll, .swallows(number): return nil
    case .swallowsFrom(let first) where (number ?? 0) >= first: return nil
    case .changesBody where !message.body.isEmpty: message.body[message.body.count - 1] ^= 1
    case .changesSubject: message.subject += ".more"
    case .changesHeaders: message.headers["Trace"] = "other"
    case .changesIDs: message.id += ".more"
    case .hasNoPositions: message.position = nil
    case .countsDouble: message.attempt *= 2
    case .countsNothing: message.attempt = 1
    default: break
    }
    return message
  }

  func request(_ message: RemoteMessage, to subject: String, within limit: Duration) async throws -> RemoteMessage {
    var limit = limit
    if case .hasNoTimeLimit = fault { limit = .seconds(1_000) }
    do {
      var reply = try await base.request(message, to: subject, within: limit)
      if case .changesReplies = fault { reply.body.append(0) }
      return reply
    } catch {
      if case .repliesWithoutResponder = fault { return RemoteMessage() }
      throw error
    }
  }

  func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription {
    if case .refusesGroups = fault, let group {
      throw TransportError(.notPromised, "expected no group, got \(group)")
    }
    return try await base.respond(to: subject, group: group, inFlight: inFlight, answer)
  }
}

/// A subscription of an engine that breaks a promise.
fileprivate final class FaultySubscription: TransportSubscription {
  let base = Guarded<(any TransportSubscription)?>(nil)
  private let fault: FaultyTransport.Fault?
  /// Gives the subscriber the last message once more. With the fault `speaksAfterTheEnd`, a task
  /// calls this closure after `drain(within:)` has ended the subscription.
  private let speakAgain: @Sendable () -> Void

  init(_ fault: FaultyTransport.Fault?, _ speakAgain: @escaping @Sendable () -> Void) {
    self.fault = fault
    self.speakAgain = speakAgain
  }

  func readinessChanged() {
    if case .neverLooksAgain = fault { return }
    base.withLock { $0 }?.readinessChanged()
  }

  func drain(within limit: Duration) async {
    if case .neverEnds = fault { return }
    await base.withLock { $0 }?.drain(within: limit)
    if case .speaksAfterTheEnd = fault {
      Task(executorPreference: EventContext.executor) { [speakAgain] in speakAgain() }
    }
  }

  func cancel() {
    if case .neverEnds = fault { return }
    base.withLock { $0 }?.cancel()
  }
}

/// A message that hides the `knownVerdict` of `base`, so that the engine has to await `verdict`.
private struct AwaitedMessage: BegunMessage {
  /// The result of the subscriber's `begin` closure for the message; `nil` if the fault swallows
  /// the message.
  let base: (any BegunMessage)?
  var retriesRejected = false
  var knownVerdict: Verdict? { nil }
  var verdict: Verdict {
    get async {
      let verdict = await base?.verdict ?? .done
      if retriesRejected, case .reject = verdict { return .retry(after: .milliseconds(1)) }
      return verdict
    }
  }
}
