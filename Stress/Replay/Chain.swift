import Eventing

/// A chain of events through which lines pass. Its handlers parse, classify, count, store, show and
/// measure the lines. Lines that cannot be parsed go to an event for errors.
///
/// A line goes from one event to the next by a handler that posts it, or by a forward. Each handler
/// runs on the kind of lane on which such work usually runs.
actor Chain {
  private let line = Event<LogLine>("line")
  private let parsed = Event<ParsedLine>("parsed")
  private let classified = Event<ClassifiedLine>("classified")
  private let failed = Event<ParsedLine.Blank>("failed")
  private let results = Results()
  private let meter = Meter()
  private var visitor: HandlerToken?

  /// The results that the handlers accumulate.
  // Safe: each part belongs to one handler, which is called one call at a time, in order. The once
  // handlers, which share a part, and the visitor, a handler that comes and goes, are inline
  // handlers of `classified`. So their calls do not overlap, and follow the order of that event.
  // The results are read after `quiesce`.
  final class Results: @unchecked Sendable {
    var outcome = LineCounts()
    var blank = Digest()
    var blankCount = 0
    var stored = Digest()
    var storedCount = 0
    @MainActor var shown = 0
  }

  /// An actor that computes rates.
  actor Meter {
    private(set) var rates = Digest()
    private(set) var rateCount = 0
    private var bytes = 0
    private var lines = 0

    func take(_ classified: ClassifiedLine) {
      bytes += classified.line.length
      lines += 1
      guard lines % LineCounts.block == 0 else { return }
      rates.add(bytes)
      rateCount += 1
      bytes = 0
    }
  }

  /// - Parameter activity: The log in which each call of the handlers `store`, `show` and `rates`
  ///   counts a step.
  init(_ activity: ActivityLog) {
    let (line, parsed, classified, failed, results, meter) = (line, parsed, classified, failed, results, meter)
    line.addHandler(.named("count")) { line in
      results.outcome.lines += 1
      results.outcome.bytes += line.text.utf8.count
    }
    line.addHandler(.named("parse")) { line in
      do { parsed.post(try ParsedLine(line)) } catch let blank as ParsedLine.Blank { failed.post(blank) }
    }
    parsed.compactMap { parsed in ClassifiedLine(line: parsed, kind: LineClass(parsed)) }.forward(to: classified)
    failed.addHandler(.named("errors")) { blank async in
      results.blank.add(blank.number)
      results.blankCount += 1
    }
    classified.addHandler(.named("tally")) { classified in results.outcome.perClass[classified.kind.rawValue] += 1 }
    classified.addHandler(.named("audit")) { classified in
      results.outcome.audited.add(classified)
      results.outcome.auditedCount += 1
    }
    classified.addHandler(.named("store"), on: .background) { classified in
      activity.move()
      results.stored.add(classified)
      results.storedCount += 1
    }
    classified.addHandler(.named("show"), on: .main) { _ in
      activity.move()
      results.shown += 1
    }
    classified.addHandler(.named("rates")) { classified in
      activity.move()
      await meter.take(classified)
    }
  }

  /// Makes the changes that the plan has before a line, then posts the line.
  func take(_ next: LogLine) async {
    let changes = Plan.changes(before: next.number)
    // A lock also applies to occurrences that are queued. So the earlier lines must be processed
    // first.
    if !changes.isEmpty { await quiesce() }
    for change in changes { make(change) }
    line.post(next)
  }

  private func make(_ change: Plan.Change) {
    let results = results
    switch change {
    case .lockAudit: classified.lockAll(where: .named("audit"))
    case .unlockAudit: classified.unlockAll(where: .named("audit"))
    case .addVisitor:
      visitor = classified.addHandler { line in
        results.outcome.visiting.add(line)
        results.outcome.visitingCount += 1
      }
    case .removeVisitor: if let visitor { classified.remove(visitor) }
    case .addOnce:
      classified.once { line in
        results.outcome.once.add(line)
        results.outcome.onceCount += 1
      }
    }
  }

  /// Waits, event by event, until all lines so far are processed.
  private func quiesce() async {
    await line.quiesce()
    await parsed.quiesce()
    await failed.quiesce()
    await classified.quiesce()
  }

  /// Waits until all lines are processed, and returns the results.
  func finish() async -> LineCounts {
    await quiesce()
    var outcome = results.outcome
    (outcome.blank, outcome.blankCount) = (results.blank, results.blankCount)
    (outcome.stored, outcome.storedCount) = (results.stored, results.storedCount)
    outcome.shown = await results.shown
    (outcome.rates, outcome.rateCount) = await (meter.rates, meter.rateCount)
    return outcome
  }
}
