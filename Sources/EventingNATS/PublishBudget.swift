#if NATS
  import Eventing

  /// The room for messages that were published and are not sent, or not stored, yet.
  ///
  /// A publisher that finds none is suspended, so a slow engine slows its publishers down. Waiters
  /// are served in order.
  final class PublishBudget: Sendable {
    private struct Waiter: Sendable {
      let cost: Int
      let deadline: ContinuousClock.Instant
      let isServed: OneShot<Bool>
    }

    private struct State: Sendable {
      var free = PublishBudget.total
      var waiters: [Waiter] = []
    }

    /// The room, in units of 4 KiB: 64 MiB, or 16,384 small messages.
    static let total = 16_384
    private let state = Guarded(State())

    /// Returns the cost of a message, so that the largest one fits.
    static func cost(_ bytes: Int) -> Int { min(total, 1 + bytes / 4_096) }

    /// Takes room. Returns false if there was none until the deadline.
    func take(_ cost: Int, until deadline: ContinuousClock.Instant) async -> Bool {
      let waiter = state.withLock { state -> Waiter? in
        if state.waiters.isEmpty, state.free >= cost {
          state.free -= cost
          return nil
        }
        let waiter = Waiter(cost: cost, deadline: deadline, isServed: OneShot())
        state.waiters.append(waiter)
        return waiter
      }
      return await waiter?.isServed.value ?? true
    }

    /// Gives room back.
    func give(_ cost: Int) {
      let served = state.withLock { state in
        state.free += cost
        var served: [Waiter] = []
        while let first = state.waiters.first, state.free >= first.cost {
          state.free -= first.cost
          served.append(state.waiters.removeFirst())
        }
        return served
      }
      for waiter in served { waiter.isServed.set(true) }
    }

    /// Ends the waits whose time is over; all of them if there is no time.
    func expire(_ now: ContinuousClock.Instant?) {
      let ended = state.withLock { state in
        let ended = state.waiters.filter { waiter in now.map { waiter.deadline <= $0 } ?? true }
        if !ended.isEmpty { state.waiters.removeAll { waiter in now.map { waiter.deadline <= $0 } ?? true } }
        return ended
      }
      for waiter in ended { waiter.isServed.set(false) }
    }

    /// Whether a publisher waits.
    var hasWaiters: Bool { state.withLock { !$0.waiters.isEmpty } }
  }
#endif
