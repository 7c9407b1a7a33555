import BenchmarkKit
import Synchronization

/// Returns two peers of the kind `limit`. Their times are lower bounds for events that guard their
/// handlers with a mutex. A send of the first peer holds the mutex while it calls the handlers. A
/// send of the second peer releases the mutex before it calls them.
func lockLimits() -> [Peer] {
  let held = Peer(
    "lock-held", "LIMIT lock held during the calls", .limit,
    mechanism: "one lock around a borrowing loop; no handler may call back"
  ) {
    let bus = HeldLockBus()
    return Rig(
      add: { cells in for cell in cells { bus.add(hitting(cell)) } },
      send: .sync { batch in for value in batch.values { bus.send(value) } },
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          bus.add(hitting(cell))
          bus.removeLast()
        }
      })
  }
  let snapshot = Peer(
    "lock-snapshot", "LIMIT lock and snapshot", .limit, mechanism: "locks, retains the array, unlocks, walks it"
  ) {
    let bus = SnapshotBus(), store = TokenStore<Int>()
    return Rig(
      add: { cells in for cell in cells { store.tokens.append(bus.add(hitting(cell))) } },
      send: .sync { batch in for value in batch.values { bus.send(value) } },
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count { bus.remove(bus.add(hitting(cell))) }
      },
      replaceRandom: .sync { batch in
        let cell = batch.cell
        var victims = VictimPicker(seed: batch.first)
        for _ in 0..<batch.count {
          let index = victims.pick(below: store.tokens.count)
          bus.remove(store.tokens[index])
          store.tokens[index] = bus.add(hitting(cell))
        }
      },
      once: .sync { batch in
        let cell = batch.cell
        for value in batch.values {
          let token = bus.add(hitting(cell))
          bus.send(value)
          bus.remove(token)
        }
      })
  }
  return [
    held.with { $0.idleEvents = { count in (0..<count).map { _ in HeldLockBus() } } },
    snapshot.with { $0.idleEvents = { count in (0..<count).map { _ in SnapshotBus() } } },
  ]
}

/// An event whose `send` holds the mutex while it calls the handlers.
final class HeldLockBus: Sendable {
  private let bus = Mutex(BorrowingLoopBus())

  @inline(never) func add(_ body: @escaping Body) { bus.withLock { $0.add(body) } }
  @inline(never) func removeLast() { bus.withLock { $0.removeLast() } }
  @inline(never) func send(_ value: Int) { bus.withLock { $0.send(value) } }
}

/// An event whose `send` releases the mutex before it calls the handlers. A change during a send
/// copies the array of handlers.
final class SnapshotBus: Sendable {
  private struct State {
    var bodies: [Body] = []
    /// The ids of the handlers, in ascending order for a binary search.
    var ids: [Int] = []
    var lastID = 0
  }
  private let state = Mutex(State())

  @inline(never) func add(_ body: @escaping Body) -> Int {
    state.withLock { state in
      state.lastID += 1
      state.bodies.append(body)
      state.ids.append(state.lastID)
      return state.lastID
    }
  }

  @inline(never) func remove(_ id: Int) {
    let removed: Body? = state.withLock { state in
      var low = 0, high = state.ids.count
      while low < high {
        let middle = (low + high) / 2
        if state.ids[middle] < id { low = middle + 1 } else { high = middle }
      }
      guard low < state.ids.count, state.ids[low] == id else { return nil }
      state.ids.remove(at: low)
      return state.bodies.remove(at: low)
    }
    _ = consume removed  // released after the mutex
  }

  @inline(never) func send(_ value: Int) {
    let snapshot = state.withLock { $0.bodies }
    for body in snapshot { body(value) }
  }
}
