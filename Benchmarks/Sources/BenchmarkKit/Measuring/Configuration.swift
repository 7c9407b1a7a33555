/// What the command line says.
public struct Configuration: Sendable {
  /// Rounds that count.
  public var rounds = 41
  /// What one repeat of one peer should take.
  public var milliseconds = 1.2
  /// Seconds for each table that may be spent on waiting for a quiet machine.
  public var patience = 150.0
  /// Few rounds, whatever else the machine does: to see that it works.
  public var isQuick = false
  /// Instead of a workload's own numbers of handlers, threads or items.
  public var sizes: [Int]?
  /// Ids of the peers that take part; nil: all.
  public var only: Set<String>?
  /// Ids of those that do not.
  public var without: Set<String> = []
  public var jsonPath: String?
  /// The output file that callgrind was given.
  public var callgrindPath: String?

  public init() {}

  /// A round counts as quiet if others took less than this of a core.
  static let quietLoad = 0.08

  func includes(_ peer: Peer, in workload: Workload) -> Bool {
    only?.contains(peer.id) != false && !without.contains(peer.id) && peer.workloads?.contains(workload) != false
  }
}
