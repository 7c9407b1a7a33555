import BenchmarkKit

/// Returns hand-written events that use an actor, of about 20 lines each.
func naiveActorPeers() -> [Peer] {
  let sync = Peer(
    "naive-actor", "naive actor, sync handlers", .peer,
    mechanism: "a switch to the actor for each send, a walk over a dictionary"
  ) {
    let bus = SyncActorBus(), store = TokenStore<Int>()
    return Rig(
      add: { cells in for cell in cells { store.tokens.append(await bus.add(hitting(cell))) } },
      send: .async { batch in
        for value in batch.values {
          await bus.send(value)
          between()
        }
      },
      addRemove: .async { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          let id = await bus.add(hitting(cell))
          between()
          await bus.remove(id)
          between()
        }
      },
      replaceRandom: .async { batch in
        let cell = batch.cell
        var victims = VictimPicker(seed: batch.first)
        for _ in 0..<batch.count {
          let index = victims.pick(below: store.tokens.count)
          await bus.remove(store.tokens[index])
          between()
          store.tokens[index] = await bus.add(hitting(cell))
          between()
        }
      },
      once: .async { batch in
        let cell = batch.cell
        for value in batch.values {
          await bus.once(hitting(cell))
          between()
          await bus.send(value)
          between()
        }
      })
  }
  let async = Peer(
    "naive-actor-async", "naive actor, async handlers", .peer, mechanism: "a switch for each send and for each handler"
  ) {
    let bus = AsyncActorBus()
    return Rig(
      add: { cells in for cell in cells { _ = await bus.add(hitting(cell)) } },
      send: .async { batch in
        for value in batch.values {
          await bus.send(value)
          between()
        }
      },
      addRemove: .async { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          let id = await bus.add(hitting(cell))
          between()
          await bus.remove(id)
          between()
        }
      })
  }
  let group = Peer(
    "naive-actor-group", "naive actor, task group", .peer, mechanism: "a child task for each handler and send"
  ) {
    let bus = AsyncActorBus()
    return Rig(
      add: { cells in for cell in cells { _ = await bus.add(hitting(cell)) } },
      send: .async { batch in
        for value in batch.values {
          await bus.sendInGroup(value)
          between()
        }
      })
  }
  return [
    sync.with {
      $0.idleEvents = { count in (0..<count).map { _ in SyncActorBus() } }
      $0.routes = naiveActorRoutes()
    },
    async.with { $0.idleEvents = { count in (0..<count).map { _ in AsyncActorBus() } } },
    group,
  ]
}
