public import Eventing
import Foundation

/// An engine inside the process, for programs without a broker, for examples and for tests.
///
///     let bus = InMemoryTransport()
///     let placed = RemoteEvent<OrderPlaced>("orders.placed", over: bus)        // at least once
///     let ticks = RemoteKeyedEvent<String, Tick>("ticks", over: bus.plain)     // at most once
///
/// The transport has one stream, which stores messages in memory: they do not survive the process.
/// The stream is never deleted and made again.
/// Several remote events on one transport behave like events in several processes.
///
/// A test that gives a seed, faults and a clock can repeat each duplicate, loss and delay. The
/// seed, the message, the listener and the number of the delivery decide each fault, whatever order
/// the tasks run in.
///
/// The stream keeps the newest messages. It keeps each older message until every group and
/// listening for its subject has handled it: see
/// ``init(seed:faults:clock:subjects:keeping:publishTimeout:)``.
///
/// Any thread and any handler may call any method. Handlers run on Swift's pool, not on the thread
/// that publishes.
public final class InMemoryTransport: Transport {
  let state: Guarded<MemoryState>
  let clock: any Clock<Duration>
  let faults: MemoryFaults
  private let stored: [SubjectFilter]?
  private let publishTimeout: Duration
  private let incidentEvent: Event<TransportIncident>
  let plainTransport: InMemoryTransport?

  public let identity: String

  /// Creates an engine with one empty stream.
  ///
  /// - Parameters:
  ///   - seed: The seed of the faults and of the choice of members.
  ///   - faults: The faults. If a kind occurs twice, the last value counts.
  ///   - clock: The clock of delays and time limits.
  ///   - subjects: The subjects that the stream stores, with the wildcards `*` and `>`.
  ///   - limit: The number of the newest messages that the stream keeps even if every group has
  ///     handled them. The stream delivers kept messages to listenings that ask for messages stored
  ///     before they began. By its id, the stream recognizes a kept message that is published
  ///     again. Messages that a group has not handled are always kept.
  ///   - publishTimeout: The longest wait of `publish` while the engine cannot be reached.
  public convenience init(
    seed: UInt64 = 0, faults: [Fault] = [], clock: any Clock<Duration> = ContinuousClock(), subjects: [String] = [">"],
    keeping limit: Int = 10_000, publishTimeout: Duration = .seconds(5)
  ) {
    self.init(seed, MemoryFaults(faults), clock, subjects.map(SubjectFilter.init), max(0, limit), publishTimeout)
  }

  private init(
    _ seed: UInt64, _ faults: MemoryFaults, _ clock: any Clock<Duration>, _ stored: [SubjectFilter]?, _ limit: Int,
    _ publishTimeout: Duration
  ) {
    state = Guarded(MemoryState(seed: seed, keeping: limit))
    self.clock = clock
    self.faults = faults
    self.stored = stored
    self.publishTimeout = publishTimeout
    identity = "memory.\(MessageID.next())"
    incidentEvent = Event("incidents")
    plainTransport = stored == nil ? nil : InMemoryTransport(~seed, faults, clock, nil, 0, publishTimeout)
  }

  /// The transport without a stream. It delivers at most once, and only to current listenings. It
  /// shares no messages with the stream.
  public var plain: InMemoryTransport { plainTransport ?? self }

  public var promises: TransportPromises { TransportPromises(isAtLeastOnce: stored != nil) }

  public var incidents: any EventSource<TransportIncident> { incidentEvent.source }

  func tell(_ incident: TransportIncident) { incidentEvent.post(incident) }

  /// The name in incidents; `nil` without a stream.
  var streamName: String? { stored == nil ? nil : identity }

  // MARK: Publishing

  public func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt {
    try await publish(message, to: subject) {}
  }

  public func publish(
    _ message: RemoteMessage, to subject: String, entered: @escaping @Sendable () -> Void
  ) async throws -> Receipt {
    let most = promises.largestPayload
    guard message.body.count <= most else {
      throw TransportError(.tooLarge, "expected at most \(most) bytes for \(subject), got \(message.body.count)")
    }
    try checkHeaderSyntax(message.headers)
    var message = message
    if !message.subject.hasBytes(of: subject) { message.subject = subject }
    guard stored != nil else {
      let woken = try await whenReached(subject) { [message] in $0.hand(message) }
      for subscription in woken { startPump(subscription) }
      return Receipt()
    }
    try checkStored(subject)
    let (receipt, woken, isLost) = try await whenReached(subject) { [message, faults] state in
      let (receipt, woken) = state.store(message)
      guard faults.loseReceipt > 0, !receipt.isDuplicate else { return (receipt, woken, false) }
      var generator = state.chances.generator(.receipt, receipt.position ?? 0)
      return (receipt, woken, generator.chance(faults.loseReceipt))
    }
    entered()
    if receipt.isDuplicate {
      let stored = state.withLock { state in receipt.position.flatMap { state.log[$0] } }
      if let stored, stored.body != message.body || !stored.subject.hasBytes(of: subject) {
        tell(.reusedID(message, on: subject, in: streamName, receipt))
      }
    }
    for subscription in woken { startPump(subscription) }
    if isLost {
      throw TransportError(.mayBeStored, "expected a receipt for a message to \(subject); it was lost, by a fault")
    }
    return receipt
  }

  private func checkStored(_ subject: String) throws {
    guard let stored, !stored.contains(where: { $0.matches(subject) }) else { return }
    let subjects = stored.map(\.text).joined(separator: ", ")
    throw TransportError(.badSubject, "expected a subject that the stream stores (\(subjects)); got \(shown(subject))")
  }

  /// Runs a closure under the mutex, once the engine can be reached. Throws as ``reach(_:)`` does.
  private func whenReached<Result: Sendable>(
    _ subject: String, _ body: @Sendable (inout MemoryState) -> Result
  ) async throws -> Result {
    while true {
      let result = state.withLock { $0.reach == .open ? body(&$0) : nil }
      if let result { return result }
      try await reach(subject)
    }
  }

  /// Throws after the publish timeout, or if the engine is closed.
  private func reach(_ subject: String) async throws {
    guard try await reach(subject, within: publishTimeout) else {
      throw TransportError(
        .refused,
        "expected the engine within \(publishTimeout) for a message to \(subject); it was away. It is not stored")
    }
  }

  /// Returns false after the limit. Throws if the engine is closed, or the task is cancelled.
  func reach(_ subject: String, within limit: Duration) async throws -> Bool {
    if state.withLock({ $0.reach }) == .away {
      await waitForConnection(limit)
      try Task.checkCancellation()
    }
    let reach = state.withLock { $0.reach }
    if reach == .closed { throw InMemoryTransport.closed(subject) }
    return reach == .open
  }

  static func closed(_ subject: String) -> TransportError {
    TransportError(.closed, "expected an open transport for \(subject); it was closed")
  }

  private func waitForConnection(_ limit: Duration) async {
    let id = state.withLock { $0.newID() }
    let timer = Scheduling.cancelledWhenDropped { [weak self, clock] in
      if (try? await Sleeping.sleep(for: limit, on: clock)) != nil { self?.endWait(id) }
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          // A cancellation before this step found nothing to resume.
          let mustWait = !state.isConnected && !state.isClosed && !Task.isCancelled
          if mustWait { state.publishers[id] = continuation }
          return !mustWait
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      endWait(id)
    }
    withExtendedLifetime(timer) {}
  }

  private func endWait(_ id: UInt64) { state.withLock { $0.publishers.removeValue(forKey: id) }?.resume() }

  public func backlog(of subject: String, in group: String) async throws -> Backlog {
    guard stored != nil else {
      throw TransportError(.notPromised, "expected a stream for the backlog of \(group); this transport stores nothing")
    }
    guard try await reach(subject, within: publishTimeout) else {
      throw TransportError(.refused, "expected the engine within \(publishTimeout) for \(subject); it was away")
    }
    let key = MemoryGroup.Key(name: group, filter: SubjectFilter(subject))
    let backlog = state.withLock { state in
      state.durableGroups[key].map { group in
        var (backlog, oldest) = group.backlog
        backlog.oldest = oldest.flatMap { state.log[$0]?.publishedAt }
        return backlog
      }
    }
    guard let backlog else { throw unknownGroup(group, subject) }
    return backlog
  }

  // MARK: Subscribing

  public func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription {
    try await reach(subject)
    let filter = SubjectFilter(subject)
    if stored != nil {
      try checkStored(subject)
      if let deadLetter = options.deadLetter { try checkStored(deadLetter) }
    }
    let subscription = state.withLock { state -> MemorySubscription? in
      if state.isClosing { return nil }
      let group = stored == nil ? nil : state.group(options, filter)
      let chance = group == nil ? state.newChance(options, filter) : 0
      let subscription = MemorySubscription(state.newID(), filter, options, group: group?.id, self, begin)
      state.add(subscription, to: group, chance: chance)
      return subscription
    }
    guard let subscription else { throw InMemoryTransport.closed(subject) }
    wake(subscription)
    return subscription
  }
}
