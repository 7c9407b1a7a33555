/// One line of a table: one peer in one workload at one size.
public struct Row: Codable, Sendable {
  public enum Status: String, Codable, Sendable {
    case ok
    /// It lost, repeated or mixed up something, and says what.
    case wrong = "WRONG"
    /// It cannot take part, and says why.
    case notApplicable = "n/a"
  }

  public var workload: Workload
  public var parameter: String
  public var peer: String
  public var label: String
  public var kind: Peer.Kind
  public var unit = ""
  /// The figure. The times are of the wall clock, for one operation.
  public var median: Double?
  public var min: Double?
  public var p25: Double?
  public var p75: Double?
  /// CPU time of all threads for one operation.
  public var cpu: Double?
  /// Figures that only this workload has.
  public var extra: [String: Double] = [:]
  /// What other processes took of a core in the rounds that count, median.
  public var noise: Double?
  /// One for each round that counts, in the same order for all peers; a round in which this peer failed has none.
  public var samples: [Double?] = []
  /// Operations in one repeat.
  public var batch = 0
  public var status = Status.ok
  public var note = ""

  init(_ workload: Workload, _ parameter: String, _ peer: Peer, label: String? = nil) {
    self.workload = workload
    self.parameter = parameter
    self.peer = peer.id
    self.label = label ?? peer.label
    self.kind = peer.kind
  }

  /// Sets the figure and its spread.
  mutating func summarise(_ sample: [Double?]) {
    samples = sample
    let present = sample.compactMap(\.self)
    guard !present.isEmpty else { return }
    median = quantile(present, 0.5)
    min = present.min()
    p25 = quantile(present, 0.25)
    p75 = quantile(present, 0.75)
  }

  mutating func fail(_ why: String?) {
    guard let why else { return }
    status = .wrong
    note = why
  }
}
