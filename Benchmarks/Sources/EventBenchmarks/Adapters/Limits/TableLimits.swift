import BenchmarkKit

/// Returns two peers of the kind `limit`. Their times are lower bounds for adding and removing
/// handlers, because their tables of handlers have no mutex.
func tableLimits() -> [Peer] {
  let slab = Peer(
    "slab", "LIMIT slab with a free list, no lock", .limit,
    mechanism: "slot and generation; adds and removes in constant time"
  ) {
    let bus = SlabBus(), store = TokenStore<SlabBus.Token>()
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
          _ = bus.add(hitting(cell), once: true)
          bus.send(value)
        }
      })
  }
  let sorted = Peer(
    "sorted-array", "LIMIT sorted array, no lock", .limit, mechanism: "binary search by priority, then the rest moves"
  ) {
    let bus = SortedArrayBus()
    return Rig(
      add: { _ in },
      send: .sync { batch in for value in batch.values { bus.send(value) } },
      ranked: Rig.Ranked(
        add: { cells in for (index, cell) in cells.enumerated() { _ = bus.add(priority: index, hitting(cell)) } },
        addRemove: .sync { batch in
          let cell = batch.cell, priority = batch.first
          for _ in 0..<batch.count { bus.remove(at: bus.add(priority: priority, hitting(cell))) }
        }))
  }
  return [
    slab.with {
      $0.isThreadSafe = false
      $0.idleEvents = { count in (0..<count).map { _ in SlabBus() } }
    },
    sorted.with {
      $0.isThreadSafe = false
      $0.workloads = [.addByPriority]
    },
  ]
}

/// Keeps handlers in slots. A token is a slot and its generation.
// Safe: one thread at a time uses it.
final class SlabBus: @unchecked Sendable {
  struct Token {
    var slot: Int
    var generation: UInt32
  }
  private struct Slot {
    var body: Body?
    var generation: UInt32 = 0
    var isOnce = false
  }
  private var slots: [Slot] = []
  private var free: [Int] = []

  @inline(never) func add(_ body: @escaping Body, once: Bool = false) -> Token {
    guard let slot = free.popLast() else {
      slots.append(Slot(body: body, isOnce: once))
      return Token(slot: slots.count - 1, generation: 0)
    }
    slots[slot].body = body
    slots[slot].isOnce = once
    return Token(slot: slot, generation: slots[slot].generation)
  }

  @inline(never) func remove(_ token: Token) {
    guard slots[token.slot].generation == token.generation, slots[token.slot].body != nil else { return }
    vacate(token.slot)
  }

  @inline(never) func send(_ value: Int) {
    var index = 0
    while index < slots.count {
      if let body = slots[index].body {
        if slots[index].isOnce { vacate(index) }
        body(value)
      }
      index += 1
    }
  }

  private func vacate(_ slot: Int) {
    slots[slot].body = nil
    slots[slot].generation &+= 1
    free.append(slot)
  }
}

/// Keeps handlers by descending priority; handlers of equal priority stay in the order of addition.
// Safe: one thread at a time uses it.
final class SortedArrayBus: @unchecked Sendable {
  private var handlers: [(priority: Int, box: HandlerBox)] = []

  /// Adds a handler and returns its index.
  @inline(never) func add(priority: Int, _ body: @escaping Body) -> Int {
    var low = 0, high = handlers.count
    while low < high {
      let middle = (low + high) / 2
      if handlers[middle].priority >= priority { low = middle + 1 } else { high = middle }
    }
    handlers.insert((priority, HandlerBox(body)), at: low)
    return low
  }

  @inline(never) func remove(at index: Int) { handlers.remove(at: index) }
  @inline(never) func send(_ value: Int) { for handler in handlers { handler.box.body(value) } }
}
