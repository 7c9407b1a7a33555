import CMeasure

extension Harness {
  /// Measures, as one operation, adding a handler that is called once and a send that calls it.
  ///
  /// Each such handler must be called with the payload of that send, and never again.
  func measureOnce() async {
    let parameter = "once and send"
    var contestants: [Contestant] = []
    for peer in contenders(in: .once) {
      guard let rig = await peer.makeRig?() else { continue }
      guard let once = rig.once else {
        decline(.once, parameter, peer, because: "has no such handlers, and no sensible way to make them")
        continue
      }
      let block = CellBlock()
      var contestant = Contestant(peer) { count in
        block.reset()
        let expected = payloadSum(first: 1, count: count)
        var sample = await timed {
          await once.run(Batch(cell: block.passing, first: 1, count: count))
          if peer.returnsEarly { wait { block.passingSum == expected } }
        }
        if block.passingSum != expected { sample.failure = "got \(block.passingSum), expected \(expected)" }
        return sample
      } finish: {
        block.reset()
        await rig.send.run(Batch(cell: block.passing, first: 5, count: 1))
        if peer.returnsEarly { cm_sleep(3_000) }
        let again = block.passingSum
        await rig.close()
        return again == 0 ? nil : "called again: \(again)"
      }
      contestant.maximum = 1 << 20
      contestant.scale = peer.roundScale
      contestants.append(contestant)
    }
    await interleave(.once, parameter, contestants, unit: "ns/pair")
  }
}
