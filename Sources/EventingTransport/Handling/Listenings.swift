import Eventing

/// The listenings of one remote event.
///
/// A listening belongs to its event: it ends with ``end()``, which the event calls when it is
/// finished or released.
final class Listenings: Sendable {
  struct Entry: Sendable {
    let group: String?
    /// `nil` while the engine subscribes.
    var subscription: (any TransportSubscription)?
  }

  struct State: Sendable {
    var entries: [UInt64: Entry] = [:]
    var lastID: UInt64 = 0
    var isEnded = false
  }

  private let state = Guarded(State())
  private let subject: String

  init(_ subject: String) { self.subject = subject }

  /// Whether the event was finished.
  var isEnded: Bool { state.withLock { $0.isEnded } }

  /// Throws if the event was finished.
  func checkOpen() throws {
    if isEnded { throw TransportError(.closed, "expected an event that is not finished; \(subject) is") }
  }

  /// Subscribes, and notes the subscription.
  ///
  /// - Throws: ``TransportError`` if the event listens with this group already, or has ended.
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
      subscription.readinessChanged()  // a handler may have been added while the engine subscribed
      return Listening(subscription, self, id)
    } catch {
      forget(id)
      throw error
    }
  }

  /// Forgets a listening that has ended.
  func forget(_ id: UInt64) {
    let gone = state.withLock { $0.entries.removeValue(forKey: id) }
    withExtendedLifetime(gone) {}
  }

  /// Tells all engines that the event may be ready.
  func readinessChanged() {
    let subscriptions = state.withLock { state in
      state.entries.isEmpty ? [] : state.entries.values.compactMap(\.subscription)
    }
    for subscription in subscriptions { subscription.readinessChanged() }
  }

  /// Ends all listenings, for ever.
  func end() {
    let entries = state.withLock { state in
      state.isEnded = true
      defer { state.entries = [:] }
      return state.entries
    }
    for entry in entries.values { entry.subscription?.cancel() }
  }
}

/// A running listening of a remote event. Dropping it changes nothing.
///
/// A listening belongs to its event, and also ends with `finish()`, or with the last reference to
/// the event.
public final class Listening: Sendable {
  private let subscription: any TransportSubscription
  private let listenings: Listenings
  private let id: UInt64

  init(_ subscription: any TransportSubscription, _ listenings: Listenings, _ id: UInt64) {
    self.subscription = subscription
    self.listenings = listenings
    self.id = id
  }

  /// Ends the listening: takes nothing new, finishes what is in hand, and gives the rest back.
  ///
  /// What handlers have not finished within the limit is given back, and comes to another member of
  /// the group. Calls that wait on lanes run nevertheless.
  ///
  /// Callable from any thread. Inside a handler of the event, this waits for that handler until the
  /// limit. Further calls return at once.
  ///
  /// - Parameter limit: The longest wait for handlers.
  public func drain(within limit: Duration = .seconds(10)) async {
    await subscription.drain(within: limit)
    listenings.forget(id)
  }

  /// Ends the listening at once, and gives back what is in hand. Does not wait. Callable from any
  /// thread and inside a handler.
  public func cancel() {
    subscription.cancel()
    listenings.forget(id)
  }
}
