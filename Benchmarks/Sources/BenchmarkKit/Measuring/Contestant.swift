/// The outcome of one repeat, which is one call of ``Contestant/run``, with times in nanoseconds.
struct Sample {
  var wall: Double
  var cpu: Double
  /// A description of the fault; nil if every payload arrived once, at the right handler.
  var failure: String?
}

/// One of the peers that are measured side by side in one table. A peer is a library, or one way to
/// use it. In a workload that measures several ways of delivery or kinds of events, a peer has one
/// contestant for each of them.
struct Contestant {
  let peer: Peer
  let label: String
  /// Performs `count` operations, measures them, and checks their outcome.
  let run: (_ count: Int) async -> Sample
  /// Makes the last check after all repeats, and closes the event that `run` has used in all of
  /// them. Returns a description of a fault, or nil.
  ///
  /// An event whose many handlers may take minutes to remove is not closed: ``Harness/graveyard``
  /// keeps it until the program ends. In the workload `kinds`, this closure does nothing.
  let finish: () async -> String?
  /// The maximum number of operations in a repeat.
  var maximum = 1 << 22
  /// The number of operations in a repeat, if the workload fixes it.
  var fixed: Int?
  /// A factor for the intended length of a repeat, which is one call of `run`. With the factor 4,
  /// the harness makes each repeat four times as long.
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
