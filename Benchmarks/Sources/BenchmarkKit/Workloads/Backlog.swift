import CMeasure
import Dispatch

extension Harness {
  /// Measures items that are posted to one handler while that handler is busy with the first item.
  /// The handler does not run on the posting thread.
  ///
  /// The figure is nanoseconds per item: the time to post the items while the handler is busy, plus
  /// the time to deliver them afterwards.
  func measureBacklog() async {
    for items in configuration.sizes ?? [1_000, 1_000_000] {
      var contestants: [Contestant] = []
      for peer in contenders(in: .backlog) {
        for route in peer.routes where route.standsBacklog && !route.isConcurrent {
          let gate = BacklogGate()
          let live = await route.make { gate.receive($0) }
          guard case .sync(let post) = live.send else {  // an async send waits for its handler, so no backlog forms
            await live.close()
            continue
          }
          contestants.append(backlog(peer, route, live, gate, items: items, post))
        }
      }
      let rounds = items > 10_000 ? min(configuration.rounds, 7) : configuration.rounds
      await interleave(.backlog, counted(items, "item"), contestants, unit: "ns/item", rounds: rounds)
    }
  }

  private func backlog(
    _ peer: Peer, _ route: Route, _ live: Route.Live, _ gate: BacklogGate, items: Int,
    _ post: @escaping @Sendable (Batch) -> Void
  ) -> Contestant {
    let passes = max(1, 20_000 / items)
    var contestant = Contestant(peer, label: "\(peer.label) / \(route.label)") { _ in
      var total = Sample(wall: 0, cpu: 0)
      for _ in 0..<passes {
        gate.close(last: items)
        let posting = await onOwnThread {
          let start = cm_now()
          post(Batch(cell: LiveRoute.noCell, first: 1, count: items))
          return cm_now() - start
        }
        let delivering = gate.open()
        total.wall += Double(posting + delivering)
        total.failure = total.failure ?? gate.failure
      }
      return total
    } finish: {
      await live.close()
      return nil
    }
    contestant.fixed = items * passes
    return contestant
  }
}

/// Blocks a handler in its first call until `open()`, and measures the time from then to the last
/// call.
// Safe: the handler writes while the harness waits, and the harness writes while the handler waits.
private final class BacklogGate: @unchecked Sendable {
  private let opened = DispatchSemaphore(value: 0), finished = DispatchSemaphore(value: 0)
  private var last = 0, expected = 0, start = 0, end = 0
  private(set) var failure: String?

  func close(last: Int) {
    self.last = last
    expected = 1
    failure = nil
  }

  func receive(_ item: Int) {
    if item != expected { failure = "got item \(item), expected \(expected)" }
    expected = item + 1
    if item == 1 {
      opened.wait()
      start = cm_now()
    }
    if item == last {
      end = cm_now()
      finished.signal()
    }
  }

  /// Lets the blocked handler go on. Returns the nanoseconds from then until the handler received
  /// the last item.
  func open() -> Int {
    opened.signal()
    if finished.wait(timeout: .now() + 60) == .timedOut { failure = "the last item was not delivered in 60 s" }
    return end - start
  }
}
