import Eventing

/// A chosen request counts in `inHand` until it has ended. While it is answered, it has one of
/// `inFlight` slots, for which further requests wait. ``cancel()`` refuses those.
///
/// ``drain(within:)`` ends the responder when `inHand` is 0. The check and the end are one step
/// under the mutex, so a drain refuses no counted request before its limit.
final class MemoryResponder: TransportSubscription {
  struct State: Sendable {
    /// Requests for which this responder was chosen, and that have not ended.
    var inHand = 0
    var running = 0
    /// Wait for a slot. Resumed with false if the responder has ended.
    var waiting = Deque<CheckedContinuation<Bool, Never>>()
    /// Calls of ``MemoryResponder/drain(within:)``. Resumed when `inHand` is 0, or on cancellation.
    var drainers: [CheckedContinuation<Void, Never>] = []
    var answering: [Answering] = []
    var isEnded = false
  }

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

  func expect() -> Bool {
    state.withLock { state in
      if !state.isEnded { state.inHand += 1 }
      return !state.isEnded
    }
  }

  /// The request was counted by ``expect()``. First waits for a slot.
  ///
  /// - Parameters:
  ///   - isWanted: Whether the caller still waits.
  ///   - done: Called once: with the reply, or with `nil` if no handler began the request, or the
  ///     caller waits no longer.
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

  /// Passes the slot on. After the last request, ends the responder if a task waits in
  /// ``drain(within:)``.
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
