import CMeasure

extension Harness {
  /// Measures the time from a send to a handler that runs elsewhere, with one occurrence in flight.
  ///
  /// In the row "busy between", the sender spins for 5 µs before each send, and while it waits for
  /// the delivery. In the row "asleep between", the sender sleeps for at least 100 µs after each
  /// send, so the cores are idle between two sends, as in most apps.
  func measureLatency(each count: Int = 400) async {
    for isAsleep in [false, true] {
      let parameter = isAsleep ? "asleep between" : "busy between"
      let routes = await liveRoutes(in: .latency) { sink, _ in sink.stopwatch() }
      if routes.isEmpty { continue }
      let count = configuration.isQuick ? 100 : isAsleep ? count / 2 : count
      var failures = [String?](repeating: nil, count: routes.count)
      func round(_ index: Int) async -> [[Double]] {
        var seen = [[Double]](repeating: [], count: routes.count)
        for k in routes.indices {
          let i = (k + index) % routes.count
          if failures[i] != nil { continue }
          Watchdog.kick("latency, \(parameter), \(routes[i].label): round \(index)")
          failures[i] = await routes[i].pace(count, isAsleep: isAsleep)
          if failures[i] == nil { seen[i] = routes[i].sink.latenciesSeen }
        }
        return seen
      }
      _ = await round(0)  // warm-up
      let rounds = await quietRounds(configuration.rounds, round: round)
      announce(rounds, .latency, parameter)
      for (i, route) in routes.enumerated() {
        await route.live.close()
        let all = rounds.outcomes.flatMap { $0[i] }
        var row = Row(.latency, parameter, route.peer, label: route.label)
        row.unit = "ns"
        row.noise = median(rounds.noise)
        row.batch = count
        row.summarise(all)
        row.samples = []  // the samples are occurrences, not rounds, so rows cannot be compared pairwise
        if !all.isEmpty {
          row.extra = ["p10": quantile(all, 0.1), "p99": quantile(all, 0.99), "p99_9": quantile(all, 0.999)]
        }
        row.fail(failures[i])
        report.add(row)
      }
    }
  }
}

extension LiveRoute {
  /// Sends `count` occurrences, each after the previous one has arrived.
  ///
  /// - Returns: A description of a fault, or nil.
  fileprivate func pace(_ count: Int, isAsleep: Bool) async -> String? {
    sink.reset()
    let sink = sink
    switch live.send {
    case .sync(let send):
      return await onOwnThread {
        for index in 0..<count {
          if !isAsleep { Self.spin() }
          send(Batch(cell: Self.noCell, first: cm_now(), count: 1))
          if let failure = Self.arrival(index, sink, isAsleep: isAsleep) { return failure }
        }
        return Self.surplus(count, sink)
      }
    case .async(let send):
      for index in 0..<count {
        if !isAsleep { Self.spin() }
        await send(Batch(cell: Self.noCell, first: cm_now(), count: 1))
        if let failure = Self.arrival(index, sink, isAsleep: isAsleep) { return failure }
      }
      return Self.surplus(count, sink)
    }
  }

  private static func spin() {
    let end = cm_now() + 5_000
    while cm_now() < end { cm_pause() }
  }

  private static func arrival(_ index: Int, _ sink: RouteSink, isAsleep: Bool) -> String? {
    let deadline = cm_now() + 2_000_000_000
    if isAsleep { cm_sleep(100) }
    while sink.count <= index {
      if isAsleep { cm_sleep(100) } else { cm_pause() }
      if cm_now() > deadline { return "occurrence \(index) was not delivered in 2 s" }
    }
    return nil
  }

  private static func surplus(_ count: Int, _ sink: RouteSink) -> String? {
    sink.count == count ? nil : "delivered \(sink.count), expected \(count)"
  }
}
