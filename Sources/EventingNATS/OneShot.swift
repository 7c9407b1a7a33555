#if NATS
  import Eventing

  /// A value that is set once, and the task that waits for it.
  final class OneShot<Value: Sendable>: Sendable {
    private struct State: Sendable {
      var value: Value?
      var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    /// Sets the value, unless it was set before.
    func set(_ value: Value) {
      let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard state.value == nil else { return nil }
        state.value = value
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume()
    }

    /// The value. The getter waits until the value is set. At most one task may wait.
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
  }

  /// Waits for a time, in a cancelled task, too.
  func pause(_ duration: Duration) async {
    let isOver = OneShot<Void>()
    let timer = Scheduling.cancelledWhenDropped {
      try? await Task.sleep(for: duration)
      isOver.set(())
    }
    await isOver.value
    withExtendedLifetime(timer) {}
  }
#endif
