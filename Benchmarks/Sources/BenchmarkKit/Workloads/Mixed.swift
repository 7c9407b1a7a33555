import CMeasure

extension Harness {
  /// Two senders and two that add and remove, all at once, on one event with 8 handlers, for a fixed time. Sends and pairs in a second;
  /// the permanent handlers must get every send, once.
  func measureMixed(handlers: Int = 8) async {
    let parameter = "2 senders, 2 changers", seconds = configuration.isQuick ? 0.015 : 0.04
    var loads: [MixedLoad] = []
    for peer in contenders(in: .mixed) {
      guard let makeRig = peer.makeRig else { continue }
      if let reason = peer.isThreadSafe ? peer.exclusions[.mixed] : "not thread-safe" {
        decline(.mixed, parameter, peer, because: reason)
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
    _ = await round(0)  // warms up
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

/// One peer in the mixed workload.
private struct MixedLoad {
  /// In a second.
  struct Rates {
    var sends: Double
    var pairs: Double
  }
  struct Failure: Error { var text: String }

  let peer: Peer
  let rig: Rig
  let addRemove: BulkOperation
  let block: CellBlock
  let handlers: Int

  /// Runs a round and checks it.
  func run(seconds: Double) async -> Result<Rates, Failure> {
    block.reset()
    let start = cm_now(), deadline = start + Int(seconds * 1e9)
    async let first = send(as: 0, until: deadline)
    async let second = send(as: 1, until: deadline)
    async let third = change(until: deadline)
    async let fourth = change(until: deadline)
    let sent = [await first, await second], pairs = await third + (await fourth)
    let changed = Double(cm_now() - start) / 1e9
    let expected = (0..<2).map { payloadSum(first: payload(sender: $0, sequence: 1), count: sent[$0]) }
    if peer.isDeferred {
      let total = (expected[0] &+ expected[1]) &* handlers
      wait { block.sum(row: 0, columns: handlers) &+ block.sum(row: 1, columns: handlers) == total }
    }
    let delivered = peer.isDeferred ? Double(cm_now() - start) / 1e9 : changed
    if let wrong = (0..<2).lazy.compactMap({ block.mismatch(row: $0, columns: handlers, expected: expected[$0]) }).first {
      return .failure(Failure(text: wrong))
    }
    return .success(Rates(sends: Double(sent[0] + sent[1]) / delivered, pairs: Double(pairs) / changed))
  }

  /// Returns how many were sent.
  private func send(as sender: Int, until deadline: Int) async -> Int {
    let most = peer.sendCap ?? .max, chunk = peer.isDeferred ? 8 : 32, cell = block.passing
    return await Self.repeating(rig.send, until: deadline, atMost: most, chunk: chunk) { done in
      Batch(cell: cell, first: payload(sender: sender, sequence: 1 + done), count: chunk)
    }
  }

  /// Returns how many pairs of an add and a remove there were.
  private func change(until deadline: Int) async -> Int {
    let chunk = 8, batch = Batch(cell: block.passing, first: 1, count: chunk)
    return await Self.repeating(addRemove, until: deadline, atMost: .max, chunk: chunk) { _ in batch }
  }

  /// On a thread of its own, or in this task if the operation is asynchronous.
  private static func repeating(
    _ operation: BulkOperation, until deadline: Int, atMost most: Int, chunk: Int, _ batch: @escaping @Sendable (_ done: Int) -> Batch
  ) async -> Int {
    switch operation {
    case .sync(let body):
      return await onOwnThread {
        var done = 0
        while cm_now() < deadline, done < most {
          body(batch(done))
          done += chunk
        }
        return done
      }
    case .async(let body):
      var done = 0
      while cm_now() < deadline, done < most {
        await body(batch(done))
        done += chunk
        await Task.yield()
      }
      return done
    }
  }
}
