/// What one repeat gave.
struct Sample {
  var wall: Double
  var cpu: Double
  /// Nil: everything arrived, once, where it should.
  var failure: String?
}

/// One peer in one table: something that can be repeated, `count` operations at a time, and that checks itself each time.
struct Contestant {
  let peer: Peer
  let label: String
  let run: (_ count: Int) async -> Sample
  /// The last check, and the end of the rig.
  let finish: () async -> String?
  /// The most operations in a repeat.
  var maximum = 1 << 22
  /// Operations in a repeat, where that is not for the harness to choose.
  var fixed: Int?
  /// Its repeats take this many times longer than the others'.
  var scale = 1.0

  init(
    _ peer: Peer, label: String? = nil, run: @escaping (_ count: Int) async -> Sample,
    finish: @escaping () async -> String?
  ) {
    self.peer = peer
    self.label = label ?? peer.label
    self.run = run
    self.finish = finish
  }
}
