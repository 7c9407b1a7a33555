extension Harness {
  /// Measures each kind of event with one sender, and with one inline handler unless the row's name
  /// says otherwise. The adapter of each library lists its kinds.
  ///
  /// After every repeat, checks the sum of the payloads that arrived.
  func measureKinds() async {
    let peers = contenders(in: .kinds)
    var parameters: [String] = []
    for kind in peers.flatMap(\.kinds) where !parameters.contains(kind.parameter) { parameters.append(kind.parameter) }
    for parameter in parameters {
      var contestants: [Contestant] = []
      for peer in peers {
        for kind in peer.kinds where kind.parameter == parameter { contestants.append(await sender(peer, kind)) }
      }
      await interleave(.kinds, parameter, contestants, unit: "ns")
    }
  }

  private func sender(_ peer: Peer, _ kind: EventKind) async -> Contestant {
    let block = CellBlock()
    let send = await kind.make(block.cells(1)[0])
    return Contestant(peer, label: kind.label) { count in
      block.reset()
      var sample = await timed { await send.run(Batch(cell: block.passing, first: 1, count: count)) }
      sample.failure = block.mismatch(columns: 1, expected: [payloadSum(first: 1, count: count)])
      return sample
    } finish: {
      nil
    }
  }
}
