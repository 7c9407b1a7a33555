/// The outcome of one repeat, with times in nanoseconds.
struct Sample {
  var wall: Double
  var cpu: Double
  /// A description of the fault; nil if every payload arrived once, at the right handler.
  var failure: String?
}

/// One peer in one table.
struct Contestant {
  let peer: Peer
  let label: String
  /// Performs `count` operations, measures them, and checks their outcome.
  let run: (_ count: Int) async -> Sample
  /// Makes the last check after all repeats, and closes the event that `run` has used in all of
  /// them. Returns a description of a fault, or nil.
  ///
  /// An event whose many handlers may take minutes to remove is not closed: ``Harness/graveyard``
  /// keeps it until the program ends.
  let finish: () async -> String?
  /// The maximum number of operations in a repeat.
  var maximum = 1 << 22
  /// The number of operations in a repeat, if the workload fixes it.
  var fixed: Int?
  /// The length of a repeat, as a multiple of the configured length.
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
