extension Harness {
  /// Measures several senders on one event with 8 handlers, until everything is delivered.
  ///
  /// The figure is nanoseconds per send, over all senders together.
  func measureContention(handlers: Int = 8) async {
    for senders in configuration.sizes ?? [1, 2, 4] where senders <= CellBlock.rows {
      var contestants: [Contestant] = []
      for peer in contenders(in: .contention) {
        guard let makeRig = peer.makeRig else { continue }
        if !peer.isThreadSafe && senders > 1 {
          decline(.contention, counted(senders, "sender"), peer, because: "not thread-safe")
          continue
        }
        contestants.append(await crowd(peer, await makeRig(), senders: senders, handlers: handlers))
      }
      await interleave(
        .contention, counted(senders, "sender"), contestants, unit: "ns/send", perOperation: Double(senders),
        milliseconds: 12)
    }
  }

  private func crowd(_ peer: Peer, _ rig: Rig, senders: Int, handlers: Int) async -> Contestant {
    let block = CellBlock()
    await rig.add(block.cells(handlers))
    var contestant = Contestant(peer) { count in
      block.reset()
      let batches = (0..<senders).map {
        Batch(cell: block.passing, first: payload(sender: $0, sequence: 1), count: count)
      }
      let expected = batches.map { payloadSum(first: $0.first, count: count) }
      let total = expected.reduce(0, &+) &* handlers
      var inThreads: Int?
      var sample = await timed {
        switch rig.send {
        case .sync(let send):
          inThreads = await onOwnThread { runThreads(senders) { send(batches[$0]) } }
        case .async(let send):
          await withTaskGroup(of: Void.self) { group in
            for batch in batches { group.addTask { await send(batch) } }
          }
        }
        if peer.returnsEarly {
          wait { (0..<senders).reduce(0) { $0 &+ block.sum(row: $1, columns: handlers) } == total }
        }
      }
      // If sends do not return early, all handlers have run when the threads end. Then the time
      // inside the threads is used, which leaves out the creation of the threads.
      if let inThreads, !peer.returnsEarly { sample.wall = Double(inThreads) }
      sample.failure = block.mismatch(columns: handlers, expected: expected)
      return sample
    } finish: {
      await rig.close()
      return nil
    }
    contestant.maximum = peer.sendCap == nil ? 1 << 21 : 40_000
    return contestant
  }
}
