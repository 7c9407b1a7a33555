import CMeasure

extension Harness {
  /// Measures an add with its remove, beside other handlers.
  func measureAddRemove() async {
    for others in configuration.sizes ?? [0, 1_000, 100_000] {
      var contestants: [Contestant] = []
      for peer in contenders(in: .addRemove) {
        guard let rig = await peer.makeRig?() else { continue }
        guard let addRemove = rig.addRemove else {
          decline(.addRemove, counted(others, "other"), peer, because: "cannot remove")
          continue
        }
        guard let block = await populate(rig, others, .addRemove, peer) else { continue }
        contestants.append(changer(peer, rig, block, others: others, addRemove))
      }
      await interleave(.addRemove, counted(others, "other"), contestants, unit: "ns/pair")
    }
  }

  /// Measures the removal of a random handler with the addition of one in its place.
  func measureReplaceRandom() async {
    for others in configuration.sizes ?? [1_000, 100_000] {
      var contestants: [Contestant] = []
      for peer in contenders(in: .replaceRandom) {
        guard let rig = await peer.makeRig?(), let replace = rig.replaceRandom else { continue }
        guard let block = await populate(rig, others, .replaceRandom, peer) else { continue }
        var seed = 0
        var contestant = Contestant(peer) { count in
          seed += 1
          return await timed { await replace.run(Batch(cell: block.passing, first: seed, count: count)) }
        } finish: {
          let got = await deliverOne(
            7, peer, rig, block, until: { block.permanentSum &+ block.passingSum == 7 * others })
          graveyard.bury(rig)
          let sum = got.permanent &+ got.passing
          return sum == 7 * others ? nil : "after replacing: handlers got \(sum), expected \(7 * others)"
        }
        contestant.maximum = 1 << 20
        contestant.scale = peer.roundScale
        contestants.append(contestant)
      }
      await interleave(.replaceRandom, counted(others, "handler"), contestants, unit: "ns/pair")
    }
  }

  /// Measures adding and removing a handler whose priority is in the middle of all priorities.
  ///
  /// Each of the other handlers has a priority of its own.
  func measureAddByPriority() async {
    for others in configuration.sizes ?? [1_000] {
      var contestants: [Contestant] = []
      for peer in contenders(in: .addByPriority) {
        guard let rig = await peer.makeRig?(), let ranked = rig.ranked else { continue }
        Watchdog.kick("\(Workload.addByPriority.name), \(peer.id): setting up")
        let block = CellBlock()
        await ranked.add(block.cells(others))
        contestants.append(changer(peer, rig, block, others: others, ranked.addRemove, first: others / 2))
      }
      await interleave(.addByPriority, counted(others, "other"), contestants, unit: "ns/pair")
    }
  }

  /// Returns a contestant (one peer in the table) that adds and removes a handler, again and again.
  ///
  /// The contestant checks that the handlers that it adds are never called, and that all other
  /// handlers are still present at the end.
  private func changer(
    _ peer: Peer, _ rig: Rig, _ block: CellBlock, others: Int, _ addRemove: BulkOperation, first: Int = 1
  ) -> Contestant {
    var contestant = Contestant(peer) { count in
      block.reset()
      var sample = await timed { await addRemove.run(Batch(cell: block.passing, first: first, count: count)) }
      if block.passingSum != 0 { sample.failure = "a handler was called although nothing was sent to it" }
      return sample
    } finish: {
      let got = await deliverOne(7, peer, rig, block, until: { block.permanentSum == 7 * others })
      if others > 1_000 { graveyard.bury(rig) } else { await rig.close() }
      if got.permanent != 7 * others {
        return "afterwards: permanent handlers got \(got.permanent), expected \(7 * others)"
      }
      return got.passing == 0 ? nil : "afterwards: removed handlers got \(got.passing)"
    }
    contestant.maximum = 1 << 20
    contestant.scale = peer.roundScale
    return contestant
  }

  /// Adds `others` handlers. If that takes too long, adds a row that says so and returns nil.
  private func populate(_ rig: Rig, _ others: Int, _ workload: Workload, _ peer: Peer) async -> CellBlock? {
    let block = CellBlock(), seconds = 45.0
    let added = await attach(others, to: rig, block, seconds: seconds, label: "\(workload.name), \(peer.id)")
    if added == others { return block }
    let parameter = counted(others, workload == .addRemove ? "other" : "handler")
    decline(workload, parameter, peer, because: "adding \(others) handlers takes more than \(Int(seconds)) s")
    graveyard.bury(rig)
    return nil
  }

  /// Sends one payload to all handlers.
  ///
  /// - Returns: The sum of the payloads that the permanent handlers received, and the sum of those
  ///   that the handlers added during the workload received.
  private func deliverOne(
    _ payload: Int, _ peer: Peer, _ rig: Rig, _ block: CellBlock, until isComplete: () -> Bool
  ) async -> (permanent: Int, passing: Int) {
    block.reset()
    await rig.send.run(Batch(cell: block.passing, first: payload, count: 1))
    if peer.returnsEarly {
      wait(until: isComplete)
      cm_sleep(2_000)  // enough time for an unwanted delivery to arrive
    }
    return (block.permanentSum, block.passingSum)
  }
}
