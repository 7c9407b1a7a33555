#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  /// A subscription, as the engine uses it.
  protocol EngineSubscription: TransportSubscription {
    /// Does the work that depends on time. The engine calls this method 10 to 50 times a second, on
    /// its own thread. The method must not block.
    func tick(_ now: ContinuousClock.Instant)
    /// Tells the subscription that the connection was restored. The server may have lost the
    /// earlier requests for messages.
    func reconnected()
    /// Tells the subscription that the connection closes after this call.
    func connectionCloses()
  }

  extension EngineSubscription {
    func connectionCloses() {}
  }

  /// The shared state of a connection. The connection, its transports and its subscriptions retain
  /// this object.
  final class Engine: Sendable {
    struct State: Sendable {
      /// The connection of libnats. If the server ends it, the engine makes another.
      var connection: LibraryConnection
      var isConnected = true
      var isClosed = false
      /// Whether a close has begun. Afterwards no subscription is added, because the close would
      /// not wait for its messages.
      var isClosing = false
      /// The calls that wait until the server is reachable, with their deadlines.
      var waiting: [(deadline: ContinuousClock.Instant, isOver: OneShot<Void>)] = []
      var subscriptions: [ObjectIdentifier: any EngineSubscription] = [:]
      /// The subscriptions that are made again with each connection.
      var kept: [ObjectIdentifier: KeptSubscription] = [:]
      /// Whether a thread restores the connection, or subscriptions that the server has refused.
      var isReviving = false
      /// Whether that thread must look once more before it ends.
      var mustRevive = false
      var largestMessage: Int
      var lastInbox = 0
    }

    /// The connection of libnats. If the server ends it, the engine makes another.
    var connection: LibraryConnection { state.withLock { $0.connection } }
    let sendQueue: SendQueue
    let pendingRequests = PendingRequests()
    let budget = PublishBudget()
    let incidents = Incidents()
    let failures = FailedAttempts()
    /// The number of messages and replies without a stream that were not sent, because the
    /// connection was closed before.
    private let unsent = Guarded(0)
    let publishTimeout: Duration
    let identity: String
    /// The prefix of all subjects for replies to this connection.
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
      // A thread instead of a task. Even while other code occupies Swift's pool, the server must be
      // told that handlers are running, and waits must time out.
      Foundation.Thread.detachNewThread { [weak engine] in
        while let pause = engine?.tick() { Foundation.Thread.sleep(forTimeInterval: pause / .seconds(1)) }
      }
      return engine
    }

    // MARK: Losing and restoring the connection

    var isConnected: Bool { state.withLock { $0.isConnected && !$0.isClosed } }
    /// The size of the largest message that the server accepts, in bytes, including headers.
    var largestMessage: Int { state.withLock { $0.largestMessage } }

    /// Marks the engine as closed and ends all waits. Returns whether the engine was open.
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

    /// Throws if the connection was closed.
    func checkOpen(_ action: String) throws {
      if state.withLock({ $0.isClosed }) {
        throw TransportError(.closed, "expected an open connection to \(action); it was closed")
      }
    }

    /// Waits until the server is reachable. Returns false after the deadline. Throws after a close,
    /// or when the task is cancelled.
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

    /// Begins a wait until the server is reachable. Returns `nil` if it is, or if the engine was
    /// closed: nothing would end a wait that begins after the close.
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

    /// Ends the waits whose deadline has passed, and calls `tick` of all subscriptions. Returns the
    /// time after which this method must be called again; `nil` if it need not be called again,
    /// because the connection is closed and no subscription is left.
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

    /// Passes a message that no stream stores to the thread that sends, which afterwards returns
    /// the message's room to the budget. Returns false if the connection was closed.
    ///
    /// The method does not wait for the socket, because that would take two thread switches for
    /// each message. An incident reports a failure.
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

    /// Passes a reply to the thread that sends. Returns false if the connection was closed. An
    /// incident reports any other failure.
    ///
    /// - Parameter subject: The subject of the responder.
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

    /// Returns the prefix of the subjects to which the server sends the messages of one
    /// subscription.
    func newInbox() -> String {
      let number = state.withLock { state in
        state.lastInbox += 1
        return state.lastInbox
      }
      return "\(inboxPrefix).s\(number)"
    }

    // MARK: Subscriptions

    /// Retains a subscription until it is removed. Throws if a close has begun.
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
