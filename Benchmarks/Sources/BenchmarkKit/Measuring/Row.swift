/// One line of a table: one peer in one workload at one size.
package struct Row: Codable, Sendable {
  package enum Status: String, Codable, Sendable {
    case ok
    /// It lost, repeated or mixed up something, and says what.
    case wrong = "WRONG"
    /// It cannot take part, and says why.
    case notApplicable = "n/a"
  }

  package var workload: Workload
  package var parameter: String
  package var peer: String
  package var label: String
  package var kind: Peer.Kind
  package var unit = ""
  /// The figure. The times are of the wall clock, for one operation.
  package var median: Double?
  package var min: Double?
  package var p25: Double?
  package var p75: Double?
  /// CPU time of all threads for one operation.
  package var cpu: Double?
  /// Figures that only this workload has.
  package var extra: [String: Double] = [:]
  /// What other processes took of a core in the rounds that count, median.
  package var noise: Double?
  /// One for each round that counts, in the same order for all peers; a round in which this peer failed has none.
  package var samples: [Double?] = []
  /// Operations in one repeat.
  package var batch = 0
  package var status = Status.ok
  package var note = ""

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
