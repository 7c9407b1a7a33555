/// What the command line says.
package struct Configuration: Sendable {
  /// Rounds that count.
  package var rounds = 41
  /// What one repeat of one peer should take.
  package var milliseconds = 1.2
  /// Seconds for each table that may be spent on waiting for a quiet machine.
  package var patience = 150.0
  /// Few rounds, whatever else the machine does: to see that it works.
  package var isQuick = false
  /// Instead of a workload's own numbers of handlers, threads or items.
  package var sizes: [Int]?
  /// Ids of the peers that take part; nil: all.
  package var only: Set<String>?
  /// Ids of those that do not.
  package var without: Set<String> = []
  package var jsonPath: String?
  /// The output file that callgrind was given.
  package var callgrindPath: String?

  package init() {}

  /// A round counts as quiet if others took less than this of a core.
  static let quietLoad = 0.08

  func includes(_ peer: Peer, in workload: Workload) -> Bool {
    only?.contains(peer.id) != false && !without.contains(peer.id) && peer.workloads?.contains(workload) != false
  }
}
