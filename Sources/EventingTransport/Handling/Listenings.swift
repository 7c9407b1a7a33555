import Eventing

/// Ended when the remote event or question is finished or released.
final class Listenings: Sendable {
  struct Entry: Sendable {
    let group: String?
    var subscription: (any TransportSubscription)?
  }

  struct State: Sendable {
    var entries: [UInt64: Entry] = [:]
    var lastID: UInt64 = 0
    var isEnded = false

    var inOrder: [Entry] { entries.sorted { $0.key < $1.key }.map(\.value) }
  }

  private let state = Guarded(State())
  private let subject: String

  init(_ subject: String) { self.subject = subject }

  var isEnded: Bool { state.withLock { $0.isEnded } }

  func checkOpen() throws {
    if isEnded { throw TransportError(.closed, "expected an event or a question that is not finished; \(subject) is") }
  }

  /// Throws if the event listens with this group already, or has ended.
  func add(
    _ group: String?, _ subscribe: () async throws -> any TransportSubscription
  ) async throws -> Listening {
    enum Refusal { case ended, listening }
    let (id, refusal) = state.withLock { state -> (UInt64, Refusal?) in
      if state.isEnded { return (0, .ended) }
      if state.entries.values.contains(where: { $0.group == group }) { return (0, .listening) }
      state.lastID += 1
      state.entries[state.lastID] = Entry(group: group, subscription: nil)
      return (state.lastID, nil)
    }
    switch refusal {
    case .ended: try checkOpen()
    case .listening:
      throw TransportError(
        .alreadyListening,
        "expected a group in which \(subject) does not listen yet; it listens \(group.map { "as \($0)" } ?? "without a group")"
      )
    case nil: break
    }
    do {
      let subscription = try await subscribe()
      let isOpen = state.withLock { state in
        if state.isEnded { return false }
        state.entries[id]?.subscription = subscription
        return true
      }
      if !isOpen { subscription.cancel() }
      try checkOpen()
      subscription.readinessChanged()  // a handler may have been added before the subscription was stored
      return Listening(subscription, self, id)
    } catch {
      forget(id)
      throw error
    }
  }

  func forget(_ id: UInt64) {
    let gone = state.withLock { $0.entries.removeValue(forKey: id) }
    withExtendedLifetime(gone) {}
  }

  /// Checks again whether the event is ready for messages, or ends the subscriptions.
  func readinessChanged(isFinished: Bool) {
    if isFinished { return end() }
    let subscriptions = state.withLock { state in
      state.entries.isEmpty ? [] : state.inOrder.compactMap(\.subscription)
    }
    for subscription in subscriptions { subscription.readinessChanged() }
  }

  func end() {
    let entries = state.withLock { state in
      state.isEnded = true
      defer { state.entries = [:] }
      return state.inOrder
    }
    for entry in entries { entry.subscription?.cancel() }
  }
}

/// A running listening of a remote event or question. Releasing this value does not end it.
///
/// A listening ends with ``drain(within:)`` or ``cancel()``. It also ends when its event or
/// question is finished, or when the last reference to the event or question is released.
public final class Listening: Sendable {
  private let subscription: any TransportSubscription
  private let listenings: Listenings
  private let id: UInt64

  init(_ subscription: any TransportSubscription, _ listenings: Listenings, _ id: UInt64) {
    self.subscription = subscription
    self.listenings = listenings
    self.id = id
  }

  /// Ends the listening. Takes no new messages, waits for handlers, and returns unhandled messages
  /// to the engine.
  ///
  /// If handlers have not finished a message within the limit, the engine delivers it to another
  /// member of the group. Calls of handlers that wait on their lanes run nevertheless. Responders
  /// begin no further query.
  ///
  /// Any thread may call this method. Inside a handler of the event, the method waits for that
  /// handler until the limit. When the listening has ended, further calls return at once.
  ///
  /// - Parameter limit: The longest wait for handlers.
  public func drain(within limit: Duration = .seconds(10)) async {
    await subscription.drain(within: limit)
    listenings.forget(id)
  }

  /// Ends the listening at once, and returns all messages without a verdict to the engine. Does not
  /// wait. Any thread and any handler may call this method.
  public func cancel() {
    subscription.cancel()
    listenings.forget(id)
  }
}
