/// The options of a run, from the command line.
package struct Configuration: Sendable {
  /// The number of rounds whose samples are used.
  package var rounds = 41
  /// The intended length in milliseconds of a repeat, which is one call of ``Contestant/run``.
  package var milliseconds = 1.2
  /// The limit for each table, in seconds, on the time spent in waits for a quiet machine and in
  /// noisy rounds.
  package var patience = 150.0
  /// Whether to run few rounds, without waiting for a quiet machine.
  ///
  /// Such a run shows that a workload works, not what it costs.
  package var isQuick = false
  /// The numbers of handlers, threads or items that replace the workload's own.
  package var sizes: [Int]?
  /// The ids of the peers (libraries, or ways to use one) that take part; nil for all.
  package var only: Set<String>?
  /// The ids of the peers that do not take part.
  package var without: Set<String> = []
  /// The path of the JSON file to write; nil for none.
  package var jsonPath: String?
  /// The output file that callgrind was given.
  package var callgrindPath: String?

  package init() {}

  /// The load below which a round is quiet: the share of one core that other processes take.
  static let quietLoad = 0.08

  /// Returns whether the peer takes part in the workload.
  func includes(_ peer: Peer, in workload: Workload) -> Bool {
    only?.contains(peer.id) != false && !without.contains(peer.id) && peer.workloads?.contains(workload) != false
  }
}
