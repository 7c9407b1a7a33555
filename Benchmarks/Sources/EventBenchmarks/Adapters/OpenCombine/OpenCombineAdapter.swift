import BenchmarkKit
import Dispatch
import OpenCombine
import OpenCombineDispatch

/// Returns the peer for OpenCombine's `PassthroughSubject`.
func openCombinePeers() -> [Peer] {
  let subject = Peer(
    "opencombine", "OpenCombine PassthroughSubject", .peer,
    mechanism: "retains a set of conduits; 3 to 5 locks and the demand's bookkeeping for each"
  ) {
    let bus = SubjectBus()
    return Rig(
      add: { cells in for cell in cells { bus.store.tokens.append(bus.subject.sink { cell.hit($0) }) } },
      send: .sync { batch in for value in batch.values { bus.subject.send(value) } },
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count { bus.subject.sink { cell.hit($0) }.cancel() }
      },
      replaceRandom: .sync { batch in
        let cell = batch.cell
        var victims = VictimPicker(seed: batch.first)
        for _ in 0..<batch.count {
          let index = victims.pick(below: bus.store.tokens.count)
          bus.store.tokens[index].cancel()
          bus.store.tokens[index] = bus.subject.sink { cell.hit($0) }
        }
      },
      once: .sync { batch in
        let cell = batch.cell
        for value in batch.values {
          let token = bus.subject.first().sink { cell.hit($0) }
          bus.subject.send(value)
          withExtendedLifetime(token) {}
        }
      },
      close: { bus.store.tokens = [] })
  }
  return [
    subject.with {
      $0.idleEvents = { count in (0..<count).map { _ in PassthroughSubject<Int, Never>() } }
      $0.routes = openCombineRoutes()
      $0.kinds = openCombineKinds()
    }
  ]
}

private func openCombineRoutes() -> [Route] {
  [
    Route("receive(on: queue)") { handler in
      let bus = SubjectBus(), queue = DispatchQueue(label: "benchmark")
      bus.store.tokens.append(bus.subject.receive(on: queue.ocombine).sink { handler($0) })
      return Route.Live(
        send: .sync { batch in for value in batch.values { bus.subject.send(value) } }, close: { bus.store.tokens = [] }
      )
    },
    Route("for await buffer().values", standsBacklog: false) { handler in
      let bus = SubjectBus(), ready = AsyncStream<Void>.makeStream()
      let consumer = Task.detached {
        let values = bus.subject.buffer(size: .max, prefetch: .byRequest, whenFull: .dropOldest).values
        var iterator = values.makeAsyncIterator()
        ready.continuation.finish()
        while let value = await iterator.next() { handler(value) }
      }
      for await _ in ready.stream {}
      return Route.Live(
        send: .sync { batch in for value in batch.values { bus.subject.send(value) } }, close: { consumer.cancel() })
    },
  ]
}

/// Owns a subject and its subscriptions.
// Safe: any thread may use a PassthroughSubject, which guards its state by mutexes of its own.
// OpenCombine only does not declare the type Sendable.
private final class SubjectBus: @unchecked Sendable {
  let subject = PassthroughSubject<Int, Never>()
  let store = TokenStore<AnyCancellable>()
}
