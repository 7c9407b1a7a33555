import Eventing

/// A responder of an engine in memory.
///
/// A request for which the engine has chosen this responder counts in `inHand` until the request
/// has ended. A request that is being answered has one of `inFlight` slots. While all slots are
/// taken, further requests wait. ``cancel()`` refuses the waiting requests, and no request gets a
/// slot afterwards.
///
/// ``drain(within:)`` ends the responder when `inHand` is 0. The check and the end are one step
/// under the mutex. So a drain refuses no request that is counted in `inHand`, unless the time
/// limit comes first.
final class MemoryResponder: TransportSubscription {
  struct State: Sendable {
    /// The number of requests for which the engine has chosen this responder, and that have not
    /// ended.
    var inHand = 0
    /// The number of requests that are being answered.
    var running = 0
    /// The requests that wait because `inFlight` others are being answered. Each is resumed with
    /// true when it may be answered, or with false when the responder has ended.
    var waiting = Deque<CheckedContinuation<Bool, Never>>()
    /// The calls of ``MemoryResponder/drain(within:)`` that wait. They are resumed when `inHand` is
    /// 0, or when the responder is cancelled.
    var drainers: [CheckedContinuation<Void, Never>] = []
    /// The requests that are being answered, in the order in which they came.
    var answering: [Answering] = []
    var isEnded = false
  }

  /// A request that is being answered.
  final class Answering: Sendable {
    let gate: QueryGate
    let done: @Sendable (RemoteMessage?) -> Void

    init(_ gate: QueryGate, _ done: @escaping @Sendable (RemoteMessage?) -> Void) {
      self.gate = gate
      self.done = done
    }
  }

  let id: UInt64
  let subject: String
  let group: String?
  let answer: @Sendable (RemoteMessage) async -> RemoteMessage
  private let inFlight: Int
  private let state = Guarded(State())
  private weak let engine: InMemoryTransport?

  init(
    _ id: UInt64, _ subject: String, _ group: String?, _ inFlight: Int, _ engine: InMemoryTransport,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) {
    self.id = id
    self.subject = subject
    self.group = group
    self.inFlight = inFlight
    self.engine = engine
    self.answer = answer
  }

  /// Counts a request for which the engine has chosen this responder. Returns false if the
  /// responder has ended.
  func expect() -> Bool {
    state.withLock { state in
      if !state.isEnded { state.inHand += 1 }
      return !state.isEnded
    }
  }

  /// Answers a request that ``expect()`` has counted. First waits while `inFlight` others are being
  /// answered.
  ///
  /// - Parameters:
  ///   - message: The request.
  ///   - isWanted: A closure that returns whether the caller still waits.
  ///   - done: A closure that is called once: with the reply, or with `nil` if the responder ended
  ///     before one of its handlers began the request, or if the caller waits no longer.
  func reply(
    to message: RemoteMessage, isWanted: @escaping @Sendable () -> Bool,
    _ done: @escaping @Sendable (RemoteMessage?) -> Void
  ) async {
    guard await takeSlot() else {
      finish(hasSlot: false)
      return done(nil)
    }
    defer { finish(hasSlot: true) }
    let request = Answering(QueryGate(isWanted: isWanted), done)
    let mayBegin = state.withLock { state in
      if !state.isEnded { state.answering.append(request) }
      return !state.isEnded
    }
    guard mayBegin, isWanted() else {
      end(request)
      return done(nil)
    }
    var message = message
    message.queryGate = request.gate
    let reply = await answer(message)
    end(request)
    if !request.gate.isRefused { done(reply) }
  }

  /// Forgets a request that is not being answered any more.
  private func end(_ request: Answering) { state.withLock { $0.answering.removeAll { $0 === request } } }

  private func takeSlot() async -> Bool {
    await withCheckedContinuation { continuation in
      let hasSlot = state.withLock { state -> Bool? in
        if state.isEnded { return false }
        guard state.running >= inFlight else {
          state.running += 1
          return true
        }
        state.waiting.append(continuation)
        return nil
      }
      if let hasSlot { continuation.resume(returning: hasSlot) }
    }
  }

  /// Counts the end of a request. If the request had a slot, the next waiting request gets the
  /// slot. After the last request, the responder ends if a task waits in ``drain(within:)``.
  func finish(hasSlot: Bool) {
    let (next, drainers) = state.withLock { state in
      state.inHand -= 1
      let next = hasSlot ? state.waiting.popFirst() : nil
      if hasSlot, next == nil { state.running -= 1 }
      guard state.inHand == 0, !state.drainers.isEmpty else { return (next, [CheckedContinuation<Void, Never>]()) }
      state.isEnded = true
      defer { state.drainers = [] }
      return (next, state.drainers)
    }
    next?.resume(returning: true)
    for drainer in drainers { drainer.resume() }
  }

  func readinessChanged() {}

  func drain(within limit: Duration) async {
    engine?.remove(self)
    guard let clock = engine?.clock else { return cancel() }
    let timer = Scheduling.cancelledWhenDropped { [weak self] in
      if (try? await Sleeping.sleep(for: limit, on: clock)) != nil { self?.cancel() }
    }
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.inHand == 0 { state.isEnded = true }
        if !state.isEnded { state.drainers.append(continuation) }
        return state.isEnded
      }
      if isIdle { continuation.resume() }
    }
    withExtendedLifetime(timer) {}
    cancel()
  }

  func cancel() {
    engine?.remove(self)
    let (waiting, drainers, answering) = state.withLock { state in
      state.isEnded = true
      defer {
        state.waiting = Deque()
        state.drainers = []
      }
      return (state.waiting, state.drainers, state.answering.map { $0 })
    }
    // A request that waits on the lane of a handler is not begun, and its caller knows it at once.
    for request in answering where request.gate.refuse() { request.done(nil) }
    var refused = waiting
    while let one = refused.popFirst() { one.resume(returning: false) }
    for drainer in drainers { drainer.resume() }
  }
}
