#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  protocol EngineSubscription: TransportSubscription {
    /// Called 10 to 50 times a second, on the engine's own thread. Must not block.
    func tick(_ now: ContinuousClock.Instant)
    /// The server may have lost the earlier requests for messages.
    func reconnected()
    func connectionCloses()
  }

  extension EngineSubscription {
    func connectionCloses() {}
  }

  /// Retained by the connection, its transports and its subscriptions.
  final class Engine: Sendable {
    struct State: Sendable {
      var connection: LibraryConnection
      var isConnected = true
      var isClosed = false
      /// Once a close has begun, no subscription is added, because the close would not wait for its
      /// messages.
      var isClosing = false
      var waiting: [(deadline: ContinuousClock.Instant, isOver: OneShot<Void>)] = []
      var subscriptions: [ObjectIdentifier: any EngineSubscription] = [:]
      var kept: [ObjectIdentifier: KeptSubscription] = [:]
      /// A thread is restoring the connection, or subscriptions that the server has refused.
      var isReviving = false
      var mustRevive = false
      var largestMessage: Int
      var lastInbox = 0
    }

    /// If the server ends the connection, the engine makes another one.
    var connection: LibraryConnection { state.withLock { $0.connection } }
    let sendQueue: SendQueue
    let pendingRequests = PendingRequests()
    let budget = PublishBudget()
    let incidents = Incidents()
    let failures = FailedAttempts()
    /// Counts messages and replies without a stream that were not sent, because the connection was
    /// closed before.
    private let unsent = Guarded(0)
    let publishTimeout: Duration
    let identity: String
    let inboxPrefix: String
    /// Connects again, with the options of the first connection. Blocks.
    let connectAgain: @Sendable () throws -> LibraryConnection
    let state: Guarded<State>

    private init(
      _ connection: LibraryConnection, _ publishTimeout: Duration, _ identity: String,
      _ connectAgain: @escaping @Sendable () throws -> LibraryConnection
    ) {
      self.connectAgain = connectAgain
      self.publishTimeout = publishTimeout
      self.identity = identity
      let state = Guarded(State(connection: connection, largestMessage: connection.largestMessage))
      self.state = state
      sendQueue = SendQueue({ message in state.withLock { $0.connection }.send(message) }) { [unsent, incidents] in
        let count = unsent.withLock { $0 }
        guard count > 0 else { return }
        let reason = "expected to send all plain messages before the connection was closed; some were not sent"
        incidents.post(TransportIncident(kind: .refused, reason: reason, dropped: count))
      }
      inboxPrefix =
        "_INBOX.\(String(UInt64.random(in: .min ... .max), radix: 36))\(String(UInt64.random(in: .min ... .max), radix: 36))"
    }

    deinit { sendQueue.close() }

    /// Makes the engine of a connection. Blocks until the server has taken the engine's
    /// subscription for replies.
    ///
    /// - Parameters:
    ///   - wait: The longest wait for the server.
    ///   - connectAgain: A closure that connects again, with the same options.
    static func make(
      _ connection: LibraryConnection, _ events: ConnectionEvents, publishTimeout: Duration, identity: String,
      within wait: Duration, _ connectAgain: @escaping @Sendable () throws -> LibraryConnection
    ) throws -> Engine {
      let engine = Engine(connection, publishTimeout, identity, connectAgain)
      events.receive { [weak engine] in engine?.handle($0) }
      let (prefix, pendingRequests) = ("\(engine.inboxPrefix).r.", engine.pendingRequests)
      _ = try engine.subscribe("\(prefix)*", group: nil, limit: nil, within: wait) { arrival in
        if let token = UInt64(arrival.subject.dropFirst(prefix.count), radix: 36) {
          pendingRequests.reply(token, arrival)
        }
      }
      // A thread instead of a task. Even while other code occupies Swift's pool, the server must
      // learn that handlers are running, and waits must time out.
      Foundation.Thread.detachNewThread { [weak engine] in
        while let pause = engine?.tick() { Foundation.Thread.sleep(forTimeInterval: pause / .seconds(1)) }
      }
      return engine
    }

    // MARK: Losing and restoring the connection

    var isConnected: Bool { state.withLock { $0.isConnected && !$0.isClosed } }
    var largestMessage: Int { state.withLock { $0.largestMessage } }

    @discardableResult func markClosed() -> Bool {
      let isNew = state.withLock { state in
        defer { state.isClosed = true }
        return !state.isClosed
      }
      endWaits { _ in true }
      pendingRequests.close()
      budget.expire(nil)
      sendQueue.close()
      return isNew
    }

    func checkOpen(_ action: String) throws {
      if state.withLock({ $0.isClosed }) {
        throw TransportError(.closed, "expected an open connection to \(action); it was closed")
      }
    }

    /// Returns false after the deadline. Throws after a close, or when the task is cancelled.
    func reach(_ action: String, until deadline: ContinuousClock.Instant) async throws -> Bool {
      while true {
        let wait = beginWait(until: deadline)
        if let wait {
          await withTaskCancellationHandler {
            await wait.value
          } onCancel: {
            endWait(wait)
          }
          try Task.checkCancellation()
        }
        try checkOpen(action)
        // The connection may be lost again directly after it was restored.
        if wait == nil || isConnected { return true }
        if deadline <= .now { return false }
      }
    }

    /// `nil` if the server is reachable, or the engine was closed: nothing would end the wait.
    func beginWait(until deadline: ContinuousClock.Instant) -> OneShot<Void>? {
      state.withLock { state -> OneShot<Void>? in
        if state.isConnected || state.isClosed { return nil }
        let isOver = OneShot<Void>()
        state.waiting.append((deadline, isOver))
        return isOver
      }
    }

    private func endWait(_ wait: OneShot<Void>) {
      state.withLock { state in state.waiting.removeAll { $0.isOver === wait } }
      wait.set(())
    }

    func endWaits(_ condition: (ContinuousClock.Instant) -> Bool) {
      let ended = state.withLock { state in
        let ended = state.waiting.filter { condition($0.deadline) }
        if !ended.isEmpty { state.waiting.removeAll { condition($0.deadline) } }
        return ended
      }
      for wait in ended { wait.isOver.set(()) }
    }

    /// Ends overdue waits, and calls `tick` of all subscriptions. Returns the time until the next
    /// call; `nil` if the connection is closed, and no subscription is left.
    private func tick() -> Duration? {
      let now = ContinuousClock.now
      let (isClosed, isWaiting, subscriptions) = state.withLock { state in
        (state.isClosed, !state.waiting.isEmpty, Array(state.subscriptions.values))
      }
      pendingRequests.expire(now)
      budget.expire(now)
      endWaits { $0 <= now }
      sendQueue.tryAgain()  // if the connection breaks during a send, the send queue pauses itself
      for subscription in subscriptions { subscription.tick(now) }
      if isClosed, subscriptions.isEmpty { return nil }
      return pendingRequests.isEmpty && !isWaiting && !budget.hasWaiters ? .milliseconds(100) : .milliseconds(20)
    }

    // MARK: Messages

    /// For a message that no stream stores. False if the connection was closed. Does not wait for
    /// the socket, which would take two thread switches for each message; an incident reports a
    /// failure.
    func hand(_ message: Outgoing, cost: Int) -> Bool {
      var message = message
      let subject = message.subject
      message.isSent = { [budget, incidents, unsent] reason in
        budget.give(cost)
        guard let reason, reason != SendQueue.wasClosed else { return }
        if reason == SendQueue.closedBefore { return unsent.withLock { $0 += 1 } }
        incidents.post(
          TransportIncident(kind: .refused, subject: subject, reason: withoutCredentials(reason), dropped: 1))
      }
      return sendQueue.send(message)
    }

    /// Returns false if the connection was closed. An incident reports any other failure.
    func reply(_ message: Outgoing, from subject: String) -> Bool {
      var message = message
      message.isSent = { [incidents, unsent] reason in
        guard let reason, reason != SendQueue.wasClosed else { return }
        if reason == SendQueue.closedBefore { return unsent.withLock { $0 += 1 } }
        incidents.post(
          TransportIncident(kind: .refused, subject: subject, reason: "a reply was not sent: \(reason)", dropped: 1))
      }
      return sendQueue.send(message)
    }

    func newInbox() -> String {
      let number = state.withLock { state in
        state.lastInbox += 1
        return state.lastInbox
      }
      return "\(inboxPrefix).s\(number)"
    }

    // MARK: Subscriptions

    /// Retains the subscription. Throws if a close has begun.
    func add(_ subscription: any EngineSubscription, _ subject: String) throws {
      let isOpen = state.withLock { state in
        guard !state.isClosed, !state.isClosing else { return false }
        state.subscriptions[ObjectIdentifier(subscription)] = subscription
        return true
      }
      guard isOpen else {
        throw TransportError(.closed, "expected an open connection to listen to \(subject); it was closed")
      }
    }

    func remove(_ subscription: any EngineSubscription) {
      let gone = state.withLock { $0.subscriptions.removeValue(forKey: ObjectIdentifier(subscription)) }
      withExtendedLifetime(gone) {}
    }

    /// Drains all subscriptions, sends the waiting messages, and closes the connection.
    func close(within limit: Duration) async {
      let subscriptions = state.withLock { state in
        state.isClosing = true
        return Array(state.subscriptions.values)
      }
      await withDiscardingTaskGroup { group in
        for subscription in subscriptions { group.addTask { await subscription.drain(within: limit) } }
      }
      for subscription in subscriptions { subscription.connectionCloses() }
      let end = ContinuousClock.now + min(limit, .seconds(2))
      while isConnected, !sendQueue.isEmpty, .now < end { await pause(.milliseconds(5)) }
      let canFlush = isConnected
      guard markClosed() else { return }
      let kept = state.withLock { state in
        defer { state.kept = [:] }
        return Array(state.kept.values)
      }
      for subscription in kept { subscription.end() }
      let isClosed = OneShot<Void>()
      Foundation.Thread.detachNewThread { [connection] in
        if canFlush { try? connection.flush(within: .seconds(1)) }
        connection.close()
        isClosed.set(())
      }
      await isClosed.value(until: .now + .seconds(2), or: ())
    }
  }
#endif
