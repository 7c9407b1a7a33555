import BenchmarkKit
import Eventing

/// Returns the peers (rows of the tables) for swift-eventing, one for each way to send: `post`, and
/// `await send` from a task and from the main actor.
func eventingPeers() -> [Peer] {
  let post = eventing("eventing-post", "Eventing post", "does not wait for its handlers") { event in
    .sync { batch in for value in batch.values { event.post(value) } }
  }
  let send = eventing("eventing-send", "Eventing await send", "waits for its handlers") { event in
    .async { batch in for value in batch.values { await event.send(value) } }
  }
  let sendOnMain = eventing(
    "eventing-send-main", "Eventing await send, from the main actor", "waits, on the main actor"
  ) { event in
    .async { @MainActor batch in for value in batch.values { await event.send(value) } }
  }
  return [
    post.with {
      // If another thread is delivering, a post returns before its handlers have run. The peer has
      // no `sendCap`, because an event with a long backlog slows posters down.
      $0.returnsEarly = true
      $0.idleEvents = { count in (0..<count).map { _ in Event<Int>() } }
      $0.routes = eventingRoutes()
      $0.kinds = eventingKinds()
      $0.manyOf = eventingManyOf()
    },
    send.with { $0.workloads = [.sending, .contention, .mixed, .memory, .instructions] },
    sendOnMain.with {
      $0.workloads = [.sending, .memory, .instructions]
      $0.sendsOnMainActor = true
    },
  ]
}

private func eventing(
  _ id: String, _ label: String, _ mechanism: String, send: @escaping @Sendable (Event<Int>) -> BulkOperation
) -> Peer {
  Peer(id, label, .subject, mechanism: mechanism) {
    let event = Event<Int>(), store = TokenStore<HandlerToken>()
    return Rig(
      add: { cells in for cell in cells { store.tokens.append(add(cell, to: event)) } },
      send: send(event),
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count { event.remove(add(cell, to: event)) }
      },
      replaceRandom: .sync { batch in
        let cell = batch.cell
        var victims = VictimPicker(seed: batch.first)
        for _ in 0..<batch.count {
          let index = victims.pick(below: store.tokens.count)
          event.remove(store.tokens[index])
          store.tokens[index] = add(cell, to: event)
        }
      },
      once: .sync { batch in
        let cell = batch.cell
        for value in batch.values {
          event.once { cell.hit($0) }
          event.post(value)
        }
      },
      ranked: ranked(event),
      isolatedCall: { await event.handlers().count },
      close: { await event.quiesce() })
  }
}

/// Adds the handler whose calls are measured.
///
/// The closures of this file are alike, so the compiler keeps only one body: that of the closure in
/// the function whose name comes first. The other closures call that body. If the kept body is not
/// the one in `add`, `check-exact` fails. (A closure of ``hitting(_:)`` would need a thunk.)
@inline(never) @discardableResult private func add(_ cell: Cell, to event: Event<Int>) -> HandlerToken {
  event.addHandler { cell.hit($0) }
}

private func eventingManyOf() -> ManyOf {
  ManyOf(
    events: { count, cell in
      let events = (0..<count).map { _ in Event<Int>() }
      for event in events { add(cell, to: event) }
      return .sync { batch in for value in batch.values { events[value % count].post(value) } }
    },
    owners: { count, cell in
      let event = Event<Int>(), owners = Owners()
      for _ in 0..<count {
        let owner = Owner()
        owners.all.append(owner)
        event.addHandler(owner: owner) { _, value in cell.hit(value) }
      }
      return ManyOf.Owned(
        send: .sync { batch in for value in batch.values { event.post(value) } },
        release: { owners.all = [] },
        remaining: { await event.handlers().count })
    })
}

private final class Owner: Sendable {}
// Safe: one thread at a time uses it.
private final class Owners: @unchecked Sendable {
  var all: [Owner] = []
}

private func ranked(_ event: Event<Int>) -> Rig.Ranked {
  Rig.Ranked(
    add: { cells in
      for (index, cell) in cells.enumerated() { event.addHandler(.priority(index)) { cell.hit($0) } }
    },
    addRemove: .sync { batch in
      let cell = batch.cell, priority = batch.first
      for _ in 0..<batch.count { event.remove(event.addHandler(.priority(priority)) { cell.hit($0) }) }
    })
}
