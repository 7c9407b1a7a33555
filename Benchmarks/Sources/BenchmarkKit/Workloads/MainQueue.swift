import CMeasure
import Dispatch

extension Harness {
  /// Measures how long a lane on the main queue keeps other blocks waiting. The lane has 100 calls
  /// of 2 ms to make.
  ///
  /// The figure is the longest time between two runs of a block that schedules itself again. In
  /// between, the main queue runs one block of the lane, which may make several calls.
  func measureMainQueue(calls: Int = 100) async {
    let routes = await liveRoutes(in: .mainQueue, where: { $0.label == ".main" }) { sink, _ in
      let count = sink.counter(isConcurrent: false)
      return { value in
        let end = cm_now() + 2_000_000
        while cm_now() < end { cm_pause() }
        count(value)
      }
    }
    for route in routes {
      let sink = route.sink
      let rounds = await quietRounds(configuration.rounds) { index -> (longest: Double, failure: String?) in
        Watchdog.kick("main-queue, \(route.label): round \(index)")
        sink.reset()
        let probe = MainQueueProbe()
        probe.run()
        await route.live.send.runOnOwnThread(Batch(cell: LiveRoute.noCell, first: 1, count: calls))
        wait { sink.count == calls }
        let longest = await probe.stop()
        return (longest / 1e6, sink.count == calls ? nil : "delivered \(sink.count), expected \(calls)")
      }
      announce(rounds, .mainQueue, "calls of 2 ms")
      await route.live.close()
      var row = Row(.mainQueue, "calls of 2 ms", route.peer, label: route.label)
      row.unit = "ms"
      row.batch = calls
      row.noise = median(rounds.noise)
      row.summarise(rounds.outcomes.map(\.longest))
      row.fail(rounds.outcomes.lazy.compactMap(\.failure).first)
      report.add(row)
    }
  }
}

/// A block on the main queue that schedules itself again, and measures the time between two runs.
// Safe: only blocks of the main queue use the fields.
private final class MainQueueProbe: @unchecked Sendable {
  private var last = 0, longest = 0, isStopped = false

  func run() {
    DispatchQueue.main.async { [self] in
      let now = cm_now()
      if last != 0 { longest = max(longest, now - last) }
      last = now
      if !isStopped { run() }
    }
  }

  /// Stops the block that schedules itself again. Returns the longest time between two runs of it,
  /// in nanoseconds.
  func stop() async -> Double {
    await withCheckedContinuation { continuation in
      DispatchQueue.main.async { [self] in
        isStopped = true
        continuation.resume(returning: Double(longest))
      }
    }
  }
}
