import BenchmarkKit
import Synchronization

/// Returns the standard library's `AsyncStream` as a peer of the benchmarks.
///
/// Each handler has a continuation and a consuming task of its own.
func asyncStreamPeers() -> [Peer] {
  let stream = Peer(
    "asyncstream", "AsyncStream for each handler", .peer,
    mechanism: "a buffer without bounds, and a task that is resumed through the executor"
  ) {
    let bus = StreamBus(), store = TokenStore<Int>()
    return Rig(
      add: { cells in for cell in cells { store.tokens.append(bus.consume { cell.hit($0) }.id) } },
      send: .sync { batch in for value in batch.values { bus.send(value) } },
      addRemove: .async { batch in
        let cell = batch.cell
        var last: Task<Void, Never>?
        for index in 0..<batch.count {
          let (id, consumer) = bus.consume { cell.hit($0) }
          bus.remove(id)
          last = consumer
          // A removed consumer ends later, in its own task. The wait for every 64th consumer keeps
          // the number of such unfinished tasks low.
          if index & 63 == 63 { await consumer.value }
        }
        await last?.value
      },
      replaceRandom: .async { batch in
        let cell = batch.cell
        var victims = VictimPicker(seed: batch.first)
        for _ in 0..<batch.count {
          let index = victims.pick(below: store.tokens.count)
          bus.remove(store.tokens[index])
          store.tokens[index] = bus.consume { cell.hit($0) }.id
        }
      },
      once: .async { batch in
        let cell = batch.cell
        for value in batch.values {
          let (id, stream) = bus.stream()
          let consumer = Task.detached {
            for await value in stream {
              cell.hit(value)
              break
            }
            bus.remove(id)
          }
          bus.send(value)
          await consumer.value
        }
      },
      close: { bus.finish() })
  }
  return [
    stream.with {
      $0.returnsEarly = true
      $0.sendCap = 3_000
      $0.idleEvents = { count in (0..<count).map { _ in StreamBus() } }
      $0.routes = [
        Route("for await") { handler in
          let (stream, continuation) = AsyncStream<Int>.makeStream()
          let consumer = Task.detached { for await value in stream { handler(value) } }
          return Route.Live(
            send: .sync { batch in for value in batch.values { continuation.yield(value) } },
            close: {
              continuation.finish()
              await consumer.value
            })
        }
      ]
    }
  ]
}

/// Sends each value to every stream that it has created.
final class StreamBus: Sendable {
  private struct State {
    var continuations: [Int: AsyncStream<Int>.Continuation] = [:]
    var lastID = 0
  }
  private let state = Mutex(State())

  func stream() -> (id: Int, stream: AsyncStream<Int>) {
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let id = state.withLock { state in
      state.lastID += 1
      state.continuations[state.lastID] = continuation
      return state.lastID
    }
    return (id, stream)
  }

  func consume(_ body: @escaping Body) -> (id: Int, consumer: Task<Void, Never>) {
    let (id, stream) = stream()
    return (id, Task.detached { for await value in stream { body(value) } })
  }

  func remove(_ id: Int) { state.withLock { $0.continuations.removeValue(forKey: id) }?.finish() }

  func send(_ value: Int) {
    let snapshot = state.withLock { $0.continuations }
    for continuation in snapshot.values { continuation.yield(value) }
  }

  func finish() {
    let all = state.withLock { state in
      let all = state.continuations
      state.continuations = [:]
      return all
    }
    for continuation in all.values { continuation.finish() }
  }
}
