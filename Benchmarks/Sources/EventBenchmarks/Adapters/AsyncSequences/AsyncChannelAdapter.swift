import AsyncAlgorithms
import BenchmarkKit
import Synchronization

/// Returns the peer for `AsyncChannel` of swift-async-algorithms, with one channel per handler.
func asyncChannelPeers() -> [Peer] {
  let channel = Peer(
    "asyncchannel", "AsyncChannel for each handler", .peer,
    mechanism: "a sender suspends until each consumer has taken the value"
  ) {
    let bus = ChannelBus()
    return Rig(
      add: { cells in for cell in cells { _ = bus.consume { cell.hit($0) } } },
      send: .async { batch in for value in batch.values { await bus.send(value) } },
      addRemove: .async { batch in
        let cell = batch.cell
        var last: Task<Void, Never>?
        for index in 0..<batch.count {
          let (id, consumer) = bus.consume { cell.hit($0) }
          bus.remove(id)
          last = consumer
          if index & 63 == 63 { await consumer.value }  // so that few consumers are ending at a time
        }
        await last?.value
      },
      close: { bus.finish() })
  }
  return [
    channel.with {
      $0.returnsEarly = true  // a send returns when the value is taken, before the handler runs
      $0.sendCap = 3_000
      $0.idleEvents = { count in (0..<count).map { _ in ChannelBus() } }
      $0.routes = [
        Route("for await") { handler in
          let channel = AsyncChannel<Int>()
          let consumer = Task.detached { for await value in channel { handler(value) } }
          return Route.Live(
            send: .async { batch in for value in batch.values { await channel.send(value) } },
            close: {
              channel.finish()
              await consumer.value
            })
        }
      ]
    }
  ]
}

/// Sends each value to every channel that it has created.
final class ChannelBus: Sendable {
  private struct State {
    var channels: [Int: AsyncChannel<Int>] = [:]
    var lastID = 0
  }
  private let state = Mutex(State())

  func consume(_ body: @escaping Body) -> (id: Int, consumer: Task<Void, Never>) {
    let channel = AsyncChannel<Int>()
    let id = state.withLock { state in
      state.lastID += 1
      state.channels[state.lastID] = channel
      return state.lastID
    }
    return (id, Task.detached { for await value in channel { body(value) } })
  }

  func remove(_ id: Int) { state.withLock { $0.channels.removeValue(forKey: id) }?.finish() }

  func send(_ value: Int) async {
    let snapshot = state.withLock { $0.channels }
    for channel in snapshot.values { await channel.send(value) }
  }

  func finish() {
    let all = state.withLock { state in
      let all = state.channels
      state.channels = [:]
      return all
    }
    for channel in all.values { channel.finish() }
  }
}
