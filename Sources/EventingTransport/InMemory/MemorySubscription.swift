import Eventing

/// A subscription of an engine in memory. Its state is in the ``MemoryState``.
final class MemorySubscription: TransportSubscription {
  let id: UInt64
  let filter: SubjectFilter
  let options: SubscribeOptions
  /// The group in the stream; `nil` on plain.
  let group: UInt64?
  let begin: @Sendable (RemoteMessage) -> any BegunMessage
  private weak let engine: InMemoryTransport?

  init(
    _ id: UInt64, _ filter: SubjectFilter, _ options: SubscribeOptions, group: UInt64?, _ engine: InMemoryTransport,
    _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) {
    self.id = id
    self.filter = filter
    self.options = options
    self.group = group
    self.engine = engine
    self.begin = begin
  }

  func readinessChanged() { engine?.wake(self) }
  func drain(within limit: Duration) async { await engine?.drain(self, within: limit) }
  func cancel() { engine?.cancel(self) }
}

/// A responder of an engine in memory.
final class MemoryResponder: TransportSubscription {
  struct State: Sendable {
    var running = 0
    /// The requests that wait for a slot.
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// The tasks that drain the responder.
    var drainers: [CheckedContinuation<Void, Never>] = []
  }

  let subject: String
  let group: String?
  let answer: @Sendable (RemoteMessage) async -> RemoteMessage
  private let inFlight: Int
  private let state = Guarded(State())
  private weak let engine: InMemoryTransport?

  init(
    _ subject: String, _ group: String?, _ inFlight: Int, _ engine: InMemoryTransport,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) {
    self.subject = subject
    self.group = group
    self.inFlight = inFlight
    self.engine = engine
    self.answer = answer
  }

  /// Answers a request when there is a slot.
  func reply(to message: RemoteMessage) async -> RemoteMessage {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.running < inFlight {
          state.running += 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    let reply = await answer(message)
    // A slot passes to the next request, or becomes free.
    let (next, drainers) = state.withLock { state in
      if !state.waiting.isEmpty { return (Optional(state.waiting.removeFirst()), [CheckedContinuation<Void, Never>]()) }
      state.running -= 1
      guard state.running == 0 else { return (nil, []) }
      defer { state.drainers = [] }
      return (nil, state.drainers)
    }
    next?.resume()
    for drainer in drainers { drainer.resume() }
    return reply
  }

  func readinessChanged() {}

  func drain(within limit: Duration) async {
    cancel()
    guard let clock = engine?.clock else { return }
    let timer = Scheduling.cancelledWhenDropped { [weak self] in
      if (try? await clock.sleep(for: limit)) != nil { self?.endDrains() }
    }
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.running > 0 { state.drainers.append(continuation) }
        return state.running == 0
      }
      if isIdle { continuation.resume() }
    }
    withExtendedLifetime(timer) {}
  }

  private func endDrains() {
    let drainers = state.withLock { state in
      defer { state.drainers = [] }
      return state.drainers
    }
    for drainer in drainers { drainer.resume() }
  }

  func cancel() { engine?.remove(self) }
}
