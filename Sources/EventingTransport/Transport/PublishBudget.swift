import Eventing

/// Suspends publishers while messages that the engine hasn't sent or stored take up too much room.
/// Freed room is offered only to the first waiters; all waiters are examined only when a deadline
/// may have passed, so that the work doesn't grow with the square of their number.
package final class PublishBudget: Sendable {
  private struct Waiter: Sendable {
    let cost: Int
    let deadline: ContinuousClock.Instant
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State: Sendable {
    var free = PublishBudget.total
    var waiters: [UInt64: Waiter] = [:]
    /// The waiters after `front`, in the order in which they came. Some may have timed out.
    var order = Deque<UInt64>()
    /// Removed from `order` by ``serve()``, which found too little room for it.
    var front: UInt64?
    var lastID: UInt64 = 0
    var cancelled: Set<UInt64> = []
    /// No later than any deadline.
    var earliest: ContinuousClock.Instant?
    /// The number of waiters examined, for tests.
    var looks = 0

    /// Returns the waiters that got room, for the caller to resume.
    mutating func serve() -> [CheckedContinuation<Bool, Never>] {
      var served: [CheckedContinuation<Bool, Never>] = []
      while let id = front ?? order.popFirst() {
        looks += 1
        front = id
        if let waiter = waiters[id] {
          guard free >= waiter.cost else { break }
          free -= waiter.cost
          waiters[id] = nil
          served.append(waiter.continuation)
        }
        front = nil
      }
      return served
    }
  }

  /// In units of 4 KiB: 64 MiB, or 16,384 small messages.
  package static let total = 16_384
  private let state = Guarded(State())

  package init() {}

  /// In units of 4 KiB, at most the total, so that even the largest message can get room.
  package static func cost(_ bytes: Int) -> Int { min(total, 1 + bytes / 4_096) }

  /// Returns whether the room was taken: not if too little was free until the deadline or the task
  /// was cancelled.
  package func take(_ cost: Int, until deadline: ContinuousClock.Instant) async -> Bool {
    if state.withLock({ $0.waiters.isEmpty && PublishBudget.take(cost, &$0) }) { return true }
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    defer { state.withLock { _ = $0.cancelled.remove(id) } }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isTaken = state.withLock { state -> Bool? in
          if state.cancelled.contains(id) { return false }
          if state.waiters.isEmpty, PublishBudget.take(cost, &state) { return true }
          state.waiters[id] = Waiter(cost: cost, deadline: deadline, continuation: continuation)
          state.order.append(id)
          state.earliest = min(state.earliest ?? deadline, deadline)
          return nil
        }
        if let isTaken { continuation.resume(returning: isTaken) }
      }
    } onCancel: {
      cancel(id)
    }
  }

  /// Also serves the waiters behind it, which may now fit.
  private func cancel(_ id: UInt64) {
    let (waiter, served) = state.withLock { state -> (Waiter?, [CheckedContinuation<Bool, Never>]) in
      guard let waiter = state.waiters.removeValue(forKey: id) else {
        state.cancelled.insert(id)
        return (nil, [])
      }
      return (waiter, state.serve())
    }
    waiter?.continuation.resume(returning: false)
    for waiter in served { waiter.resume(returning: true) }
  }

  private static func take(_ cost: Int, _ state: inout State) -> Bool {
    guard state.free >= cost else { return false }
    state.free -= cost
    return true
  }

  package func give(_ cost: Int) {
    let served = state.withLock { state in
      state.free += cost
      return state.serve()
    }
    for waiter in served { waiter.resume(returning: true) }
  }

  package func expire(_ now: ContinuousClock.Instant?) {
    let (ended, served) = state.withLock { state -> ([Waiter], [CheckedContinuation<Bool, Never>]) in
      guard let earliest = state.earliest, now.map({ earliest <= $0 }) ?? true else { return ([], []) }
      state.looks += state.waiters.count
      let late = state.waiters.filter { waiter in now.map { waiter.value.deadline <= $0 } ?? true }
      for id in late.keys { state.waiters[id] = nil }
      state.earliest = state.waiters.values.map(\.deadline).min()
      return (late.sorted { $0.key < $1.key }.map(\.value), late.isEmpty ? [] : state.serve())
    }
    for waiter in ended { waiter.continuation.resume(returning: false) }
    for waiter in served { waiter.resume(returning: true) }
  }

  package var hasWaiters: Bool { state.withLock { !$0.waiters.isEmpty } }

  package var waiterCount: Int { state.withLock { $0.waiters.count } }

  package var looks: Int { state.withLock { $0.looks } }
}
