import Eventing

extension InMemoryTransport {
  public func request(
    _ message: RemoteMessage, to subject: String, within limit: Duration
  ) async throws -> RemoteMessage {
    try checkHeaderSyntax(message.headers)
    let exchange = Exchange()
    let timer = Scheduling.cancelledWhenDropped { [clock] in
      guard (try? await Sleeping.sleep(for: limit, on: clock)) != nil else { return }
      exchange.endLate(
        .failure(TransportError(.timedOut, "expected a reply to \(subject) within \(limit); none came")))
    }
    defer { withExtendedLifetime(timer) {} }
    guard try await reach(subject, within: limit) else {
      throw TransportError(
        .timedOut, "expected a reply to \(subject) within \(limit); the engine was away for that time")
    }
    let (count, asked) = chooseResponders(subject)
    let nobody = TransportError(.noResponders, "expected a process that responds to \(subject); there is none")
    guard count > 0 else { throw nobody }
    exchange.expect(count)
    var request = message
    request.subject = subject
    for responder in asked {
      Scheduling.task(priority: nil, on: EventContext.executor) { [request] in
        await responder.reply(to: request, isWanted: { !exchange.isOver }) { reply in
          guard let reply else { return exchange.endOne(.failure(nobody)) }
          if reply.headers[HeaderName.failure] == nil {
            exchange.end(.success(reply))
          } else {
            exchange.endOne(.success(reply))
          }
        }
      }
    }
    return try await exchange.reply()
  }

  /// Chooses again if a responder has ended before it can count the request. It has left the
  /// engine, so the next choice doesn't meet it.
  private func chooseResponders(_ subject: String) -> (count: Int, asked: [MemoryResponder]) {
    let number = state.withLock { state in
      state.lastRequest += 1
      return state.lastRequest
    }
    while true {
      let choice = state.withLock { $0.chooseResponders(subject, request: number, faults) }
      let counting = choice.asked.filter { $0.expect() }
      if counting.count == choice.asked.count { return choice }
      for responder in counting { responder.finish(hasSlot: false) }
    }
  }

  public func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription {
    let responder = state.withLock { state -> MemoryResponder? in
      if state.isClosing { return nil }
      let responder = MemoryResponder(state.newID(), subject, group, max(1, inFlight), self, answer)
      state.responders[ExactText(subject), default: [:]][responder.id] = responder
      return responder
    }
    guard let responder else { throw InMemoryTransport.closed(subject) }
    return responder
  }

  func remove(_ responder: MemoryResponder) {
    // `gone` is released after the unlock: its closure's captures may run user code in `deinit`.
    let gone = state.withLock { state in
      let subject = ExactText(responder.subject)
      let gone = state.responders[subject]?.removeValue(forKey: responder.id)
      if state.responders[subject]?.isEmpty == true { state.responders[subject] = nil }
      return gone
    }
    withExtendedLifetime(gone) {}
  }
}

extension MemoryState {
  /// One member of each group, and every responder without a group. While the responders do not
  /// change, the seed and the number of the request decide. `asked` lacks those for which a fault
  /// loses the request.
  func chooseResponders(
    _ subject: String, request number: UInt64, _ faults: MemoryFaults
  ) -> (count: Int, asked: [MemoryResponder]) {
    var groups: [String: [MemoryResponder]] = [:]
    var chosen: [MemoryResponder] = []
    for responder in (responders[ExactText(subject)] ?? [:]).values.sorted(by: { $0.id < $1.id }) {
      if let group = responder.group { groups[group, default: []].append(responder) } else { chosen.append(responder) }
    }
    for group in groups.keys.sorted() {
      var generator = chances.generator(.member, number, stableHash(group))
      if let one = groups[group]?.randomElement(using: &generator) { chosen.append(one) }
    }
    let asked = chosen.enumerated().filter { index, _ in
      var generator = chances.generator(.request, number, UInt64(index))
      return !generator.chance(faults.drop)
    }.map(\.element)
    return (chosen.count, asked)
  }
}

/// Ends with the first answer, the first refusal if no responder is left, a timeout, or a
/// cancellation.
private final class Exchange: Sendable {
  struct State: Sendable {
    var result: Result<RemoteMessage, any Error>?
    var waiter: CheckedContinuation<Void, Never>?
    /// Responders that may still reply.
    var expected = 0
    /// The error of a responder goes before a reply that says only that there is no answer.
    var refusal: Result<RemoteMessage, any Error>?
  }

  private let state = Guarded(State())

  var isOver: Bool { state.withLock { $0.result != nil } }

  /// Counts a responder whose request a fault loses, too, so the caller waits until the limit.
  func expect(_ count: Int) { state.withLock { $0.expected = count } }

  /// The last refusal ends the exchange: one that did not wait for the others would beat their
  /// answers.
  func endOne(_ refusal: Result<RemoteMessage, any Error>) {
    let last = state.withLock { state -> Result<RemoteMessage, any Error>? in
      state.expected -= 1
      if state.refusal.map(\.isFailureOfResponder) != true { state.refusal = refusal }
      return state.expected == 0 ? state.refusal : nil
    }
    if let last { end(last) }
  }

  func endLate(_ result: Result<RemoteMessage, any Error>) {
    end(state.withLock { $0.refusal } ?? result)
  }

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

extension Result<RemoteMessage, any Error> {
  fileprivate var isFailureOfResponder: Bool {
    guard case .success(let reply) = self, let code = reply.headers[HeaderName.failure] else { return false }
    return code != TransportError.Code.noResponders.name
  }
}
