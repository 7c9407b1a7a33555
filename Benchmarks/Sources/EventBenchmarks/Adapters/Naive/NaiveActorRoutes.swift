import BenchmarkKit

/// Returns the routes of a hand-written actor, `SyncActorBus`: two ways to send to its only
/// handler, with `await` and in a task.
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
