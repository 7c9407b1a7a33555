extension ScenarioContext {
  /// Counts the operations of this round that began while an operation of another worker was
  /// running. If workers made changes in this round (``Worker/changes``), one of the two operations
  /// must be a change.
  ///
  /// The count is needed because a scenario without overlaps proves nothing: its workers ran one
  /// after the other.
  func countOverlaps() {
    var spans: [(span: Span, worker: Int, isChange: Bool)] = []
    for worker in workers {
      spans += worker.senderLog.sent.map { ($0, worker.index, false) }
      spans += worker.actions.map { ($0, worker.index, false) }
      spans += worker.changes.map { ($0, worker.index, true) }
    }
    let isAnyPair = !spans.contains { $0.isChange }
    spans.sort { $0.span.start < $1.span.start }
    // For each worker, two times: `any` is the latest end of its operations so far, and `change`
    // the latest end of the changes among these operations.
    var ends = [(any: UInt64, change: UInt64)](repeating: (0, 0), count: workers.count)
    for (span, worker, isChange) in spans {
      let overlaps = ends.indices.contains { other in
        other != worker && (isChange || isAnyPair ? ends[other].any : ends[other].change) > span.start
      }
      if overlaps { self.overlaps += 1 }
      ends[worker].any = max(ends[worker].any, span.end)
      if isChange { ends[worker].change = max(ends[worker].change, span.end) }
    }
  }
}
