import CMeasure

extension Harness {
  /// Measures threads that post as fast as they can to one event with 8 inline handlers.
  ///
  /// Meanwhile a task awaits an isolated call every millisecond. The figures are nanoseconds per
  /// post until everything is delivered, the peak number of undelivered posts, and the longest
  /// isolated call.
  func measureFlood(handlers: Int = 8) async {
    for threads in configuration.sizes ?? [1, 2, 4, 8] where threads <= CellBlock.rows {
      var floods: [FloodRun] = []
      for peer in contenders(in: .flood) {
        guard peer.isThreadSafe || threads == 1, let rig = await peer.makeRig?(), case .sync(let post) = rig.send else {
          continue
        }
        let block = CellBlock()
        await rig.add(block.cells(handlers))
        // Only swift-eventing makes all posts. The other peers serve only for comparison and make a
        // twentieth, because some are 100 times slower.
        let share = peer.kind == .subject ? 1 : 20
        let posts = (configuration.isQuick ? 1_000_000 : 5_000_000) / share
        floods.append(
          FloodRun(peer: peer, rig: rig, post: post, block: block, handlers: handlers, threads: threads, posts: posts))
      }
      await measure(floods, counted(threads, "thread"))
    }
  }

  private func measure(_ floods: [FloodRun], _ parameter: String) async {
    guard !floods.isEmpty else { return }
    let rounds = await quietRounds(configuration.isQuick ? 1 : 5) { index in
      var outcomes: [FloodRun.Figures] = []
      for flood in floods {
        Watchdog.kick("flood, \(parameter), \(flood.peer.id): round \(index)")
        outcomes.append(await flood.run())
      }
      return outcomes
    }
    announce(rounds, .flood, parameter)
    for (i, flood) in floods.enumerated() {
      await flood.rig.close()
      let outcomes = rounds.outcomes.map { $0[i] }
      var row = Row(.flood, parameter, flood.peer)
      row.unit = "ns/post"
      row.noise = median(rounds.noise)
      row.batch = flood.rounded
      row.summarise(outcomes.map(\.nanosecondsPerPost))
      row.extra["peak_queue"] = Double(outcomes.map(\.peak).max() ?? 0)
      if let worst = outcomes.compactMap(\.worstCall).max() { row.extra["worst_isolated_ms"] = worst }
      row.fail(outcomes.lazy.compactMap(\.failure).first)
      report.add(row)
    }
  }
}
