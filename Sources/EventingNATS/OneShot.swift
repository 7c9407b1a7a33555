#if NATS
  import Eventing

  final class OneShot<Value: Sendable>: Sendable {
    private struct State: Sendable {
      var value: Value?
      var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    @discardableResult func set(_ value: Value) -> Bool {
      let (isFirst, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
        guard state.value == nil else { return (false, nil) }
        state.value = value
        defer { state.waiter = nil }
        return (true, state.waiter)
      }
      waiter?.resume()
      return isFirst
    }

    /// At most one task may wait.
    var value: Value {
      get async {
        await withCheckedContinuation { continuation in
          let isThere = state.withLock { state in
            if state.value == nil { state.waiter = continuation }
            return state.value != nil
          }
          if isThere { continuation.resume() }
        }
        guard let value = state.withLock({ $0.value }) else { preconditionFailure("the wait ends with a value") }
        return value
      }
    }

    func value(until end: ContinuousClock.Instant, or late: Value) async -> Value {
      let timer = Scheduling.cancelledWhenDropped { [self] in
        if (try? await Sleeping.sleep(for: end - .now, on: ContinuousClock())) != nil { set(late) }
      }
      defer { withExtendedLifetime(timer) {} }
      return await value
    }
  }

  /// A cancelled task pauses, too.
  func pause(_ duration: Duration) async { await OneShot().value(until: .now + duration, or: ()) }
#endif
