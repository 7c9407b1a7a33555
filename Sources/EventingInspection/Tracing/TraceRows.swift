/// The rows of a trace file, called threads in its format: one for each thread with a record
/// outside of lanes, and one for each slot of a lane. Within a row, spans nest.
struct TraceRows {
  /// The names of the rows of the trace file: each row shows a thread, or a slot of a lane. The
  /// name of row *n* is at index *n* - 1.
  private(set) var names: [String] = []
  private var threads: [UInt: Int] = [:]
  /// The row of each call, in the order of ``TraceSpans/calls``.
  private(set) var calls: [Int] = []

  /// Gives each occurrence and each call a row.
  init(_ spans: TraceSpans) {
    let order = spans.calls.indices.sorted { spans.calls[$0].begin < spans.calls[$1].begin }
    for occurrence in spans.occurrences { addThread(occurrence.thread) }
    for call in spans.calls where call.lane == 0 { addThread(call.thread) }
    for noCall in spans.noCalls { addThread(noCall.thread) }
    calls = Array(repeating: 0, count: spans.calls.count)
    /// For each lane, by its number: the row of each slot, and the time at which the slot becomes
    /// free.
    var slots: [UInt64: [(row: Int, freeAt: UInt64)]] = [:]
    for place in order {
      let call = spans.calls[place]
      if call.lane == 0 {
        calls[place] = thread(call.thread)
        continue
      }
      var ofLane = slots[call.lane] ?? []
      let slot = ofLane.firstIndex { $0.freeAt <= call.begin } ?? ofLane.count
      if slot == ofLane.count {
        names.append("lane \(call.lane)\(slot == 0 ? "" : ", slot \(slot + 1)"): \(call.laneName ?? call.name)")
        ofLane.append((names.count, 0))
      }
      ofLane[slot].freeAt = call.end
      slots[call.lane] = ofLane
      calls[place] = ofLane[slot].row
    }
  }

  /// Returns the row of a thread.
  func thread(_ thread: UInt) -> Int { threads[thread] ?? 0 }

  private mutating func addThread(_ thread: UInt) {
    guard threads[thread] == nil else { return }
    names.append("thread \(threads.count + 1)")
    threads[thread] = names.count
  }
}
