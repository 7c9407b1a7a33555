import BenchmarkKit
import Dispatch
import Eventing

/// Returns the routes of swift-eventing, one for each kind of delivery that is not inline. A route
/// has an event, one handler, and the operation that posts to the event.
func eventingRoutes() -> [Route] {
  [
    route(".background") { event, handler in event.addHandler(on: .background) { handler($0) } },
    route(".queue") { event, handler in event.addHandler(on: .queue(DispatchQueue(label: "benchmark"))) { handler($0) }
    },
    route(".main") { event, handler in event.addHandler(on: .main) { handler($0) } },
    route("async") { event, handler in event.addHandler { (value: Int) async in handler(value) } },
    route(".concurrent(limit: 4)", isConcurrent: true) { event, handler in
      event.addHandler(on: .concurrent(limit: 4)) { (value: Int) async in handler(value) }
    },
    route(".task", isConcurrent: true) { event, handler in
      event.addHandler(on: .task) { (value: Int) async in handler(value) }
    },
    route("a shared Lane") { event, handler in
      event.addHandler(on: .lane(HandlerLane("benchmark"))) { (value: Int) async in handler(value) }
    },
    route(".retrying, nothing fails") { event, handler in
      event.addHandler(.retrying(.immediately(attempts: 3))) { (value: Int) async throws in handler(value) }
    },
    route("batches of 100") { event, handler in
      event.batches(of: 100).addHandler { (values: [Int]) async in for value in values { handler(value) } }
    },
    route("in order by key, 1,000 keys", isConcurrent: true) { event, handler in
      event.addHandler(.inOrder { $0 % 1_000 }, on: .concurrent(limit: 4)) { (value: Int) async in handler(value) }
    },
    Route("payloads()") { handler in
      let event = Event<Int>()
      let payloads = event.payloads()
      let consumer = Task.detached { for await value in payloads { handler(value) } }
      return Route.Live(
        send: .sync { batch in for value in batch.values { event.post(value) } },
        close: {
          event.finish()
          await consumer.value
        })
    },
  ]
}

private func route(
  _ label: String, isConcurrent: Bool = false, add: @escaping @Sendable (Event<Int>, @escaping Body) -> HandlerToken
) -> Route {
  Route(label, isConcurrent: isConcurrent) { handler in
    let event = Event<Int>()
    _ = add(event, handler)
    return Route.Live(
      send: .sync { batch in for value in batch.values { event.post(value) } }, close: { await event.quiesce() })
  }
}
