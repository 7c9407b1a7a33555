import CMeasure

extension Harness {
  /// Measures two senders and two changers at once, on one event with 8 handlers, for a fixed time.
  ///
  /// A changer adds a handler, removes it, and begins again. The figures are sends per second, and
  /// pairs of add and remove per second. Each permanent handler must receive every send once.
  func measureMixed(handlers: Int = 8) async {
    let parameter = "2 senders, 2 changers", seconds = configuration.isQuick ? 0.015 : 0.04
    var loads: [MixedLoad] = []
    for peer in contenders(in: .mixed) {
      guard let makeRig = peer.makeRig else { continue }
      if !peer.isThreadSafe {
        decline(.mixed, parameter, peer, because: "not thread-safe")
        continue
      }
      let rig = await makeRig()
      guard let addRemove = rig.addRemove else {
        decline(.mixed, parameter, peer, because: "cannot remove")
        continue
      }
      let block = CellBlock()
      await rig.add(block.cells(handlers))
      loads.append(MixedLoad(peer: peer, rig: rig, addRemove: addRemove, block: block, handlers: handlers))
    }
    var failures = [String?](repeating: nil, count: loads.count)
    func round(_ index: Int) async -> [MixedLoad.Rates?] {
      var rates = [MixedLoad.Rates?](repeating: nil, count: loads.count)
      for k in loads.indices {
        let i = (k + index) % loads.count
        if failures[i] != nil { continue }
        Watchdog.kick("mixed, \(loads[i].peer.id): round \(index)")
        switch await loads[i].run(seconds: seconds) {
        case .success(let measured): rates[i] = measured
        case .failure(let failure): failures[i] = failure.text
        }
      }
      return rates
    }
    _ = await round(0)  // warm-up
    let rounds = await quietRounds(configuration.rounds, round: round)
    announce(rounds, .mixed, parameter)
    for (i, load) in loads.enumerated() {
      await load.rig.close()
      var row = Row(.mixed, parameter, load.peer)
      row.unit = "sends/s"
      row.noise = median(rounds.noise)
      row.summarise(rounds.outcomes.map { $0[i]?.sends })
      let pairs = rounds.outcomes.compactMap { $0[i]?.pairs }
      if !pairs.isEmpty { row.extra["pairs_per_s"] = median(pairs) }
      if let worst = row.min, let median = row.median { row.extra["worst_of_median"] = worst / median }
      if let cap = load.peer.sendCap { row.extra["send_cap"] = Double(cap) }
      row.fail(failures[i])
      report.add(row)
    }
  }
}
