import BenchmarkKit
import Synchronization

/// Returns a hand-written event that uses a lock, of about 20 lines.
func naiveLockPeers() -> [Peer] {
  let dictionary = Peer(
    "naive-lock", "naive lock and dictionary", .peer, mechanism: "locks, retains the dictionary, unlocks, walks it"
  ) {
    let bus = LockBus(), store = TokenStore<Int>()
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
          bus.once(hitting(cell))
          bus.send(value)
        }
      })
  }
  return [dictionary.with { $0.idleEvents = { count in (0..<count).map { _ in LockBus() } } }]
}

/// Keeps handlers in a dictionary under a lock. A send walks a snapshot of it.
final class LockBus: Sendable {
  private struct State {
    var handlers: [Int: Body] = [:]
    var lastID = 0
    mutating func nextID() -> Int {
      lastID += 1
      return lastID
    }
  }
  private let state = Mutex(State())

  func add(_ body: @escaping Body) -> Int {
    state.withLock { state in
      let id = state.nextID()
      state.handlers[id] = body
      return id
    }
  }

  func once(_ body: @escaping Body) {
    state.withLock { state in
      let id = state.nextID()
      state.handlers[id] = { [weak self] value in
        self?.remove(id)
        body(value)
      }
    }
  }

  func remove(_ id: Int) {
    let removed = state.withLock { $0.handlers.removeValue(forKey: id) }
    _ = consume removed  // released outside of the lock
  }

  func send(_ value: Int) {
    let snapshot = state.withLock { $0.handlers }
    for body in snapshot.values { body(value) }
  }
}
