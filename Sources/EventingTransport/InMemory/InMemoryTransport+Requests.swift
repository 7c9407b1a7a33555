import Eventing

extension InMemoryTransport {
  public func request(
    _ message: RemoteMessage, to subject: String, within limit: Duration
  ) async throws -> RemoteMessage {
    let asked = try state.withLock { state -> Result<[MemoryResponder], TransportError> in
      if state.isClosed {
        return .failure(TransportError(.closed, "expected an open transport for \(subject); it was closed"))
      }
      var groups: [String: [MemoryResponder]] = [:]
      var asked: [MemoryResponder] = []
      for responder in state.responders where responder.subject == subject {
        if let group = responder.group { groups[group, default: []].append(responder) } else { asked.append(responder) }
      }
      for group in groups.keys.sorted() {
        if let one = groups[group]?.randomElement(using: &state.random) { asked.append(one) }
      }
      if asked.isEmpty || !state.isConnected {
        return .failure(TransportError(.noResponders, "expected a process that responds to \(subject); there is none"))
      }
      return .success(asked.filter { _ in !state.random.chance(faults.drop) })
    }.get()
    var request = message
    request.subject = subject
    let exchange = Exchange()
    for responder in asked {
      Scheduling.task(priority: nil, on: EventContext.executor) { [request] in
        exchange.end(.success(await responder.reply(to: request)))
      }
    }
    let timer = Scheduling.cancelledWhenDropped { [clock] in
      guard (try? await clock.sleep(for: limit)) != nil else { return }
      exchange.end(
        .failure(TransportError(.timedOut, "expected a reply to \(subject) within \(limit); none came")))
    }
    defer { withExtendedLifetime(timer) {} }
    return try await exchange.reply()
  }

  public func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription {
    let responder = MemoryResponder(subject, group, max(1, inFlight), self, answer)
    let isOpen = state.withLock { state in
      if !state.isClosed { state.responders.append(responder) }
      return !state.isClosed
    }
    guard isOpen else { throw TransportError(.closed, "expected an open transport for \(subject); it was closed") }
    return responder
  }

  func remove(_ responder: MemoryResponder) {
    // Released after the mutex: its closure belongs to the user.
    let gone = state.withLock { state in
      defer { state.responders.removeAll { $0 === responder } }
      return state.responders.filter { $0 === responder }
    }
    withExtendedLifetime(gone) {}
  }
}

/// A request and the first of what comes: a reply, the end of the time, or a cancellation.
private final class Exchange: Sendable {
  struct State: Sendable {
    var result: Result<RemoteMessage, any Error>?
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Guarded(State())

  /// Ends the exchange, unless it has ended.
  func end(_ result: Result<RemoteMessage, any Error>) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.result == nil else { return nil }
      state.result = result
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  func reply() async throws -> RemoteMessage {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.result == nil { state.waiter = continuation }
          return state.result != nil
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      end(.failure(CancellationError()))
    }
    guard let result = state.withLock({ $0.result }) else { preconditionFailure("the wait ends with a result") }
    return try result.get()
  }
}
