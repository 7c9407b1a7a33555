extension Harness {
  /// Measures one sender on an idle event with inline handlers.
  ///
  /// After every repeat, checks the sum of the payloads that each handler received.
  func measureSending() async {
    for handlers in configuration.sizes ?? [1, 8, 64, 1_024] {
      var contestants: [Contestant] = []
      for peer in contenders(in: .sending) {
        guard let makeRig = peer.makeRig else { continue }
        Watchdog.kick("sending, \(handlers) handlers, \(peer.id): setting up")
        contestants.append(await sender(peer, await makeRig(), handlers: handlers))
      }
      await interleave(.sending, counted(handlers, "handler"), contestants, unit: "ns/send")
    }
  }

  private func sender(_ peer: Peer, _ rig: Rig, handlers: Int) async -> Contestant {
    let block = CellBlock()
    await rig.add(block.cells(handlers))
    var contestant = Contestant(peer) { count in
      block.reset()
      let each = payloadSum(first: 1, count: count)
      var sample = await timed {
        await rig.send.run(Batch(cell: block.passing, first: 1, count: count))
        if peer.returnsEarly { wait { block.sum(row: 0, columns: handlers) == each &* handlers } }
      }
      sample.failure = block.mismatch(columns: handlers, expected: [each])
      return sample
    } finish: {
      await rig.close()
      return nil
    }
    contestant.maximum = max(64, (peer.sendCap == nil ? 1 << 22 : 400_000) / handlers)
    contestant.scale = peer.roundScale
    return contestant
  }
}

extension Peer {
  /// A factor for the intended length of a repeat, which is one call of ``Contestant/run``.
  ///
  /// Repeats are made longer for peers whose sends return early and have a `sendCap`, and for peers
  /// whose repeats begin with a switch to the main actor.
  var roundScale: Double { sendsOnMainActor || (returnsEarly && sendCap != nil) ? 4 : 1 }
}

/// Returns a count with its noun: "1 handler", "1,024 handlers".
func counted(_ count: Int, _ noun: String) -> String {
  var digits = String(count), end = digits.endIndex
  while let comma = digits.index(end, offsetBy: -3, limitedBy: digits.startIndex), comma > digits.startIndex {
    digits.insert(",", at: comma)
    end = comma
  }
  return "\(digits) \(noun)\(count == 1 ? "" : "s")"
}
