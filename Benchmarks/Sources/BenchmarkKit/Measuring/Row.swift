/// One line of a table: one peer (a library, or one way to use it) in one workload at one size.
package struct Row: Codable, Sendable {
  package enum Status: String, Codable, Sendable {
    case ok
    /// The peer lost, repeated or mixed up payloads; the note says how.
    case wrong = "WRONG"
    /// The peer cannot take part; the note says why.
    case notApplicable = "n/a"
  }

  package var workload: Workload
  package var parameter: String
  package var peer: String
  package var label: String
  package var kind: Peer.Kind
  package var unit = ""
  /// The figure. A time is wall time in nanoseconds per operation, unless `unit` says otherwise.
  package var median: Double?
  package var min: Double?
  package var p25: Double?
  package var p75: Double?
  /// The CPU time of all threads, in nanoseconds per operation.
  package var cpu: Double?
  /// The figures that only this workload has.
  package var extra: [String: Double] = [:]
  /// The share of one core that other processes took: the median over the rounds that the figures
  /// use.
  package var noise: Double?
  /// One value for each round that the figures use; nil for a round in which this peer failed.
  ///
  /// The harness may run more rounds than the row needs. Then the figures use those rounds in which
  /// other processes took the least processor time. In the rows of all peers, the values at one
  /// index belong to one round.
  package var samples: [Double?] = []
  /// The number of operations in one repeat. In each round, each peer makes one repeat.
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

  /// Sets the figure and its spread from samples.
  mutating func summarise(_ sample: [Double?]) {
    samples = sample
    let present = sample.compactMap(\.self)
    guard !present.isEmpty else { return }
    median = quantile(present, 0.5)
    min = present.min()
    p25 = quantile(present, 0.25)
    p75 = quantile(present, 0.75)
  }

  /// Marks the row as wrong, unless `why` is nil. The row keeps the figures of earlier rounds.
  mutating func fail(_ why: String?) {
    guard let why else { return }
    status = .wrong
    note = why
  }
}
