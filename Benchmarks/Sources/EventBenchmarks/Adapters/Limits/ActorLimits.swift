import BenchmarkKit

/// Returns three peers of the kind `limit`. Their times are lower bounds for events that are
/// actors, because each peer does only what such an event cannot avoid.
func actorLimits() -> [Peer] {
  let floor = Peer(
    "actor-floor", "LIMIT actor around a borrowing loop", .limit, mechanism: "one switch to the actor for each send"
  ) {
    let bus = FloorActorBus()
    return Rig(
      add: { cells in for cell in cells { await bus.add(hitting(cell)) } },
      send: .async { batch in
        for value in batch.values {
          await bus.send(value)
          between()
        }
      },
      addRemove: .async { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          await bus.add(hitting(cell))
          between()
          await bus.removeLast()
          between()
        }
      })
  }
  let nonsending = Peer(
    "actor-nonsending", "LIMIT actor, async handlers that stay on it", .limit,
    mechanism: "no switch for each handler (SE-0461)"
  ) {
    let bus = NonsendingActorBus()
    return Rig(
      add: { cells in for cell in cells { await bus.add(hitting(cell)) } },
      send: .async { batch in
        for value in batch.values {
          await bus.send(value)
          between()
        }
      })
  }
  let asyncLoop = Peer(
    "loop-async", "LIMIT loop over async closures", .limit, mechanism: "no actor; an async call for each handler"
  ) {
    let bus = AsyncLoopBus()
    return Rig(
      add: { cells in for cell in cells { bus.handlers.append(.init { cell.hit($0) }) } },
      send: .async { batch in
        for value in batch.values {
          await bus.send(value)
          between()
        }
      })
  }
  return [
    floor.with {
      $0.idleEvents = { count in (0..<count).map { _ in FloorActorBus() } }
      $0.routes = [
        Route("await send") { handler in
          let bus = FloorActorBus()
          await bus.add(handler)
          return Route.Live(
            send: .async { batch in
              for value in batch.values {
                await bus.send(value)
                between()
              }
            })
        }
      ]
    },
    nonsending,
    asyncLoop.with { $0.isThreadSafe = false },
  ]
}

/// Calls synchronous handlers on the actor.
actor FloorActorBus {
  private let bus = BorrowingLoopBus()
  func add(_ body: @escaping Body) { bus.add(body) }
  func removeLast() { bus.removeLast() }
  func send(_ value: Int) { bus.send(value) }
}

/// Awaits asynchronous handlers that run on their caller's executor.
actor NonsendingActorBus {
  typealias AsyncBody = nonisolated(nonsending) @Sendable (Int) async -> Void
  /// A struct around the closure. As an element of an array, a closure needs a thunk; as a property
  /// of a struct, it needs none.
  private struct Handler { var body: AsyncBody }
  private var handlers: [Handler] = []

  func add(_ body: @escaping AsyncBody) { handlers.append(Handler(body: body)) }
  func send(_ value: Int) async { for handler in handlers { await handler.body(value) } }
}

/// Awaits asynchronous handlers one after the other. Neither this class nor a handler belongs to an
/// actor.
// Safe: one task at a time uses it.
final class AsyncLoopBus: @unchecked Sendable {
  struct Handler { var body: @Sendable (Int) async -> Void }
  var handlers: [Handler] = []
  @inline(never) func send(_ value: Int) async { for handler in handlers { await handler.body(value) } }
}
