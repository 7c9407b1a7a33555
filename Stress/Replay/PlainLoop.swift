/// A plain loop that processes the lines without events, as the reference.
struct PlainLoop {
  private(set) var outcome = LineCounts()
  private var isAuditLocked = false
  private var hasVisitor = false
  private var waitingOnce = 0
  private var blockBytes = 0
  private var classified = 0

  mutating func take(_ line: LogLine) {
    for change in Plan.changes(before: line.number) {
      switch change {
      case .lockAudit: isAuditLocked = true
      case .unlockAudit: isAuditLocked = false
      case .addVisitor: hasVisitor = true
      case .removeVisitor: hasVisitor = false
      case .addOnce: waitingOnce += 1
      }
    }
    outcome.lines += 1
    outcome.bytes += line.text.utf8.count
    guard let parsed = try? ParsedLine(line) else {
      outcome.blank.add(line.number)
      outcome.blankCount += 1
      return
    }
    let result = ClassifiedLine(line: parsed, kind: LineClass(parsed))
    outcome.perClass[result.kind.rawValue] += 1
    outcome.stored.add(result)
    outcome.storedCount += 1
    outcome.shown += 1
    if !isAuditLocked {
      outcome.audited.add(result)
      outcome.auditedCount += 1
    }
    if hasVisitor {
      outcome.visiting.add(result)
      outcome.visitingCount += 1
    }
    for _ in 0..<waitingOnce {
      outcome.once.add(result)
      outcome.onceCount += 1
    }
    waitingOnce = 0
    blockBytes += parsed.length
    classified += 1
    if classified % LineCounts.block == 0 {
      outcome.rates.add(blockBytes)
      outcome.rateCount += 1
      blockBytes = 0
    }
  }
}
