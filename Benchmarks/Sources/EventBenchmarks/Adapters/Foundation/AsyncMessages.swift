import BenchmarkKit
import Foundation

/// Returns NotificationCenter with typed messages and asynchronous observers, as a peer: a row in
/// the tables of the benchmarks.
func asyncMessages() -> Peer {
  Peer(
    "notification-async", "NotificationCenter AsyncMessage", .peer,
    mechanism: "each delivery is a closure in an actor's queue and then a child task; in no order"
  ) {
    let center = NotificationCenter(), store = TokenStore<NotificationCenter.ObservationToken>()
    await prime(center)
    return Rig(
      add: { cells in
        for cell in cells {
          store.tokens.append(center.addObserver(for: AsyncValue.self) { cell.hitAtomically($0.value) })
        }
      },
      send: .sync { batch in for value in batch.values { center.post(AsyncValue(value: value)) } },
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          center.removeObserver(center.addObserver(for: AsyncValue.self) { cell.hitAtomically($0.value) })
        }
      },
      replaceRandom: .sync { batch in
        let cell = batch.cell
        var victims = VictimPicker(seed: batch.first)
        for _ in 0..<batch.count {
          let index = victims.pick(below: store.tokens.count)
          center.removeObserver(store.tokens[index])
          store.tokens[index] = center.addObserver(for: AsyncValue.self) { cell.hitAtomically($0.value) }
        }
      },
      close: { for token in store.tokens { center.removeObserver(token) } })
  }.with {
    $0.returnsEarly = true
    $0.sendCap = 3_000
    // This peer does not run the workload `flood`. The workload would take minutes, because the
    // cost of an item grows with the backlog.
    $0.workloads = Set(Workload.allCases).subtracting([.flood])
    $0.routes = asyncMessageRoutes()
  }
}

private func asyncMessageRoutes() -> [Route] {
  [
    Route("async observer", isConcurrent: true) { handler in
      let center = NotificationCenter(), token = center.addObserver(for: AsyncValue.self) { handler($0.value) }
      return Route.Live(
        send: .sync { batch in for value in batch.values { center.post(AsyncValue(value: value)) } },
        close: { center.removeObserver(token) })
    },
    Route("for await messages(of:)", standsBacklog: false) { handler in
      let center = NotificationCenter(), ready = AsyncStream<Void>.makeStream()
      let messages = center.messages(for: AsyncValue.self, bufferSize: .max - 1)
      let consumer = Task.detached {
        var iterator = messages.makeAsyncIterator()
        ready.continuation.finish()
        while let message = await iterator.next(isolation: nil) { handler(message.value) }
      }
      for await _ in ready.stream {}
      return Route.Live(
        send: .sync { batch in for value in batch.values { center.post(AsyncValue(value: value)) } },
        close: { consumer.cancel() })
    },
  ]
}

/// The typed message that the peer posts.
private struct AsyncValue: NotificationCenter.AsyncMessage {
  typealias Subject = NotificationSubject
  var value: Int
}

/// Posts one notification and waits for its delivery.
///
/// This is needed because a center creates its queue at the first post. If two first posts race,
/// the center creates two queues, and loses the notification in one of them.
private func prime(_ center: NotificationCenter) async {
  let arrived = AsyncStream<Void>.makeStream()
  let token = center.addObserver(for: AsyncValue.self) { _ in arrived.continuation.finish() }
  center.post(AsyncValue(value: 0))
  for await _ in arrived.stream {}
  center.removeObserver(token)
}
