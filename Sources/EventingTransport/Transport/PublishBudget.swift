import Eventing

/// Limits the total size of the messages and requests that the engine has not sent or stored yet.
///
/// If the limit is reached, publishers are suspended, so a slow engine slows its publishers down.
/// Waiters get room in the order in which they began to wait. Freed room is offered to the first
/// waiters alone; all waiters are examined only when a deadline may have passed. So the work does
/// not grow with the square of the number of waiters.
package final class PublishBudget: Sendable {
  private struct Waiter: Sendable {
    let cost: Int
    let deadline: ContinuousClock.Instant
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State: Sendable {
    var free = PublishBudget.total
    var waiters: [UInt64: Waiter] = [:]
    /// The ids of the waiters behind `front`, in the order in which they began to wait. Some may
    /// have timed out.
    var order = Deque<UInt64>()
    /// The id of the first waiter, if ``serve()`` has removed the id from `order` and then found
    /// too little free room for the waiter. Otherwise `nil`.
    var front: UInt64?
    var lastID: UInt64 = 0
    /// The ids of calls that were cancelled before they began to wait.
    var cancelled: Set<UInt64> = []
    /// A time that is not later than any deadline.
    var earliest: ContinuousClock.Instant?
    /// The number of times that a waiter was examined, for tests.
    var looks = 0

    /// Gives free room to the first waiters. Returns the waiters that got room, which the caller
    /// resumes.
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

  /// The total room, in units of 4 KiB: 64 MiB, or 16,384 small messages.
  package static let total = 16_384
  private let state = Guarded(State())

  package init() {}

  /// Returns the room that a message takes, in units of 4 KiB. The result is at most the total
  /// room, so that even the largest message can get room.
  package static func cost(_ bytes: Int) -> Int { min(total, 1 + bytes / 4_096) }

  /// Waits until `cost` units of room are free, and takes them. Returns false if too few were free
  /// until the deadline, or if the task is cancelled before.
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

  /// Ends the wait of a call whose task was cancelled. The waiters behind it may fit.
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

  /// Gives room back, and resumes the first waiters that fit.
  package func give(_ cost: Int) {
    let served = state.withLock { state in
      state.free += cost
      return state.serve()
    }
    for waiter in served { waiter.resume(returning: true) }
  }

  /// Ends the waits whose deadline has passed at the time `now`. If `now` is `nil`, ends all waits.
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

  /// Whether a publisher waits for room.
  package var hasWaiters: Bool { state.withLock { !$0.waiters.isEmpty } }

  /// The number of waiters.
  package var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// The number of times that a waiter was examined, for tests.
  package var looks: Int { state.withLock { $0.looks } }
}
