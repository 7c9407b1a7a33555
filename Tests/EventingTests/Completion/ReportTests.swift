import Testing

@testable import Eventing

/// Tests of guarantee G21: no occurrence is lost or delivered twice, and reports count the
/// outcomes.
@Suite(.fewAtATime) struct ReportTests {
  // MARK: Counts

  /// The rare outcomes share a word. None of their counts runs over into another one.
  @Test func theCountsOfAReportAreApart() {
    var report = SendReport(sequence: .max, delivered: 4)
    (report.skipped, report.dropped, report.deferred, report.held) = (5, 6, 7, 8)
    report.deferred += 2_000_000
    #expect("\(report)".hasSuffix("4 delivered, 5 skipped, 6 dropped, 2000007 deferred, 8 held, 0 failed"))
    (report.dropped, report.held) = (.max, 3_000_000)
    #expect([report.dropped, report.deferred, report.held] == [2_097_151, 2_000_007, 2_097_151])
    #expect(MemoryLayout<SendReport>.size == 32)
  }

  // MARK: Sequence numbers

  @Test func sequenceNumbersCountTheOccurrencesFromOne() async {
    let event = Event<Int>()
    #expect(await event.send(0).sequence == 1)
    event.post(0)
    #expect(await event.submit(0).report.sequence == 3)
    event.addHandler { _ in }
    #expect(await event.send(0).sequence == 4)
    event.addHandler { _ async in }
    event.post(0)
    #expect(await event.send(0).sequence == 6)
    event.lock()
    #expect(await event.send(0).sequence == 7)
    #expect(await event.submit(0).report.sequence == 8)
  }

  @Test func sequenceNumbersOfRacingSendsAreAllDifferentAndWithoutGaps() async {
    let event = Event<Int>()
    let sequences = Recorder<UInt64>()
    event.addHandler { _ in }
    event.addHandler(on: .background) { _ in }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for number in 0..<250 {
            sequences.record(await event.send(number).sequence)
            sequences.record(await event.submit(number).report.sequence)
          }
        }
      }
    }
    #expect(sequences.values.sorted() == Array(1...2_000))
  }

  @Test func reportHasTheSequenceNumberThatItsHandlersSaw() async {
    let event = Event<Int>()
    let seen = Recorder<UInt64>()
    event.occurrences.addHandler { seen.record($0.sequence) }
    event.occurrences.addHandler(on: .background) { seen.record($0.sequence) }
    event.occurrences.addHandler { occurrence async in seen.record(occurrence.sequence) }
    event.occurrences.addHandler(on: .task) { seen.record($0.sequence) }
    for number in 0..<20 {
      let report = await event.send(number)
      #expect(seen.values == Array(repeating: report.sequence, count: 4))
      seen.removeAll()
    }
  }

  // MARK: Changes before the send

  @Test(arguments: SerialKind.allCases) func everyStateThatAHandlerIsFoundInIsCounted(kind: SerialKind) async {
    let event = Event<Int>()
    let stage = Stage()
    let calls = Recorder<String>()
    func add(_ name: String, once: Bool = false) -> HandlerToken {
      EventingTests.add(kind, to: event, named: name, once: once, stage: stage) { _ in calls.record(name) }
    }
    let holders = kind == .actor ? 6 : 0  // each of the 6 calls of `add` also adds a handler that retains the actor
    _ = add("there")
    let locked = add("locked")
    let removed = add("removed")
    _ = add("used up", once: true)
    await event.send(0)
    calls.removeAll()
    let scoped = add("scoped")
    _ = add("once", once: true)
    event.lock(locked)
    event.remove(removed)
    let report = await event.withLocked(scoped) { await event.send(1) }
    #expect(report.delivered == 2 + holders)
    #expect(report.skipped == 2)
    #expect(calls.values.sorted() == ["once", "there"])
    event.lock()
    let gated = await event.send(2)
    #expect(gated.delivered == 0)
    #expect(gated.skipped == 3 + holders)
    #expect(gated.reachedNobody)
  }

  @Test func handlerWhoseOwnerIsGoneIsNotCounted() async {
    let event = Event<Int>()
    let live = LiveCount()
    do {
      let owner = Canary(live)
      event.addHandler(owner: owner) { _, _ in }
      event.addHandler(on: .background, owner: owner) { _, _ in }
      event.addHandler(owner: owner) { _, _ async in }
      event.addHandler(on: .task, owner: owner) { _, _ async in }
      #expect(await event.send(1).delivered == 4)
    }
    #expect(await eventually { live.alive == 0 })
    let report = await event.send(2)
    #expect(report.delivered + report.skipped == 0)
  }

  @Test func handlersThatAreRemovedOrUsedUpDuringTheOccurrenceAreNotCounted() async {
    let event = Event<Int>()
    let victims = Recorder<HandlerToken>()
    event.addHandler(.priority(1)) { _ in event.removeAll(where: .oneOf(victims.values)) }
    victims.record(event.addHandler { _ in })
    victims.record(event.addHandler(on: .background) { _ in })
    victims.record(event.addHandler { _ async in })
    event.addHandler { _ in }
    let report = await event.send(1)
    #expect(report.delivered == 2)
    #expect(report.skipped == 0)
  }

  @Test func handlersThatAreLockedDuringTheOccurrenceAreSkipped() async {
    let event = Event<Int>()
    event.addHandler(.priority(1)) { _ in event.lockAll(where: .named("victim")) }
    event.addHandler(.named("victim")) { _ in }
    event.addHandler(.named("victim"), on: .background) { _ in }
    event.addHandler(.named("victim")) { _ async in }
    event.addHandler { _ in }
    let report = await event.send(1)
    #expect(report.delivered == 2)
    #expect(report.skipped == 3)
  }

  // MARK: The content of a report

  @Test func reportOfAnEventWithoutHandlersReachedNobody() async {
    let report = await Event<Int>().send(1)
    #expect(report.reachedNobody)
    #expect(
      report.delivered + report.skipped + report.dropped + report.deferred + report.held + report.failures.count == 0)
  }

  @Test func reportOfAFinishedEventReachedNobody() async {
    let event = Event<Int>()
    event.addHandler { _ in }
    event.finish()
    event.addHandler { _ in }
    #expect(await event.send(1).reachedNobody)
  }

  @Test func errorsAndDeferredHandlersCountAsReached() async {
    let event = Event<Int>()
    let inner = Recorder<SendReport>()
    event.addHandler { number in
      if number == 1 { inner.record(await event.send(2)) }
      throw CancellationError()
    }
    let outer = await event.send(1)
    #expect(!outer.reachedNobody)
    #expect(inner.values.map(\.reachedNobody) == [false])
  }

  @Test func reportsAndSnapshotsAgree() async throws {
    let event = Event<Int>()
    let token = event.addHandler(.named("inline")) { _ in }
    event.addHandler(.named("lane"), on: .background) { _ in }
    var (delivered, skipped) = (0, 0)
    for number in 0..<40 {
      if number.isMultiple(of: 4) { event.lock(token) } else { event.unlock(token) }
      let report = await event.send(number)
      delivered += report.delivered
      skipped += report.skipped
    }
    let snapshots = await event.handlers()
    #expect(snapshots.map(\.callCount).reduce(0, +) == delivered)
    #expect(snapshots.map(\.skippedCount).reduce(0, +) == skipped)
    #expect(skipped == 10)
    #expect(delivered == 70)
  }

  // MARK: Racing threads

  @Test func everyReportCountsTheCallsThatTookPlaceWhileHandlersComeAndGo() async {
    let event = Event<Int>()
    let rounds = 400
    let calls = (0..<2 * rounds).map { _ in Counter() }
    let names = ["inline", "background", "async", "concurrent", "task"]
    @Sendable func join() {
      event.addHandler(.named("inline")) { calls[$0].add() }
      event.addHandler(.named("background"), on: .background) { calls[$0].add() }
      event.addHandler(.named("async")) { number async in calls[number].add() }
      event.addHandler(.named("concurrent"), on: .concurrent(limit: 2)) { calls[$0].add() }
      event.addHandler(.named("task"), on: .task) { calls[$0].add() }
    }
    join()
    let isOver = Gate()
    let changer = startThread {
      var random = SeededGenerator(seed: 7)
      while !isOver.isOpen {
        guard let name = names.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: event.lockAll(where: .named(name))
        case 1: event.unlockAll(where: .named(name))
        case 2:
          event.removeAll(where: .named(name))
          join()
        default: event.removeAll(where: .named("inline", "background", "async", "concurrent", "task"))
        }
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for sender in 0..<2 {
        group.addTask {
          for number in sender * rounds..<(sender + 1) * rounds {
            let report = number.isMultiple(of: 2) ? await event.send(number) : await event.submit(number).report
            #expect(report.delivered == calls[number].value)
            #expect(report.deferred + report.held + report.dropped + report.failures.count == 0)
          }
        }
      }
    }
    isOver.open()
    await changer.opened()
  }

  // MARK: Stopped occurrences

  @Test func handlerWhoseOwnerIsGoneIsNotCountedAsStopped() async {
    let (event, live, calls) = (Event<Int>(), LiveCount(), Counter())
    let interceptor = event.intercept(.priority(1)) { _ in .stop }
    event.addHandler { _ in calls.add() }
    event.addHandler(on: .background) { _ in calls.add() }
    do {
      let owner = Canary(live)
      event.addHandler(owner: owner) { _, _ in calls.add() }
      event.addHandler(on: .background, owner: owner) { _, _ in calls.add() }
      event.addHandler(owner: owner) { _, _ async in calls.add() }
      event.addHandler(.priority(-1), on: .task, owner: owner) { _, _ async in calls.add() }
      let stopped = await event.send(1)
      #expect(stopped.delivered == 1 && stopped.skipped == 6)
      withExtendedLifetime(owner) {}
    }
    #expect(live.alive == 0)
    let stopped = await event.send(2)
    #expect(stopped.delivered == 1 && stopped.skipped == 2)
    #expect(calls.value == 0)
    event.remove(interceptor)
    let report = await event.send(3)
    #expect(report.delivered == 2 && report.skipped == 0)
    #expect(calls.value == 2)
  }
}
