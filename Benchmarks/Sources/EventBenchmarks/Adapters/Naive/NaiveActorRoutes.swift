import BenchmarkKit

/// Returns the routes to one handler of the hand-written actors.
func naiveActorRoutes() -> [Route] {
  [
    Route("await send") { handler in
      let bus = SyncActorBus()
      _ = await bus.add(handler)
      return Route.Live(
        send: .async { batch in
          for value in batch.values {
            await bus.send(value)
            between()
          }
        })
    },
    Route("Task { await send }", isConcurrent: true) { handler in
      let bus = SyncActorBus()
      _ = await bus.add(handler)
      return Route.Live(send: .sync { batch in for value in batch.values { Task { await bus.send(value) } } })
    },
  ]
}
