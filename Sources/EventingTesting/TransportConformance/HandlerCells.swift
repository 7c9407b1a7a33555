import Eventing
import EventingTransport

/// One cell of the table of *Past one machine*: what a handler's options do to a message of a
/// stream.
struct HandlerCell: Sendable {
  let name: String
  let body: @Sendable (HandlerCellRun) async throws -> Void
}

/// One running cell: a remote event with its log, and the event of its dead letters.
struct HandlerCellRun: Sendable {
  final class Owner: Sendable {}
  struct Refused: Error {}

  let conformance: Conformance
  let event: RemoteEvent<Int>
  private let log = Guarded<[Int]>([])
  private let deadNumbers = Guarded<[Int]>([])

  init(_ conformance: Conformance) async throws {
    self.conformance = conformance
    event = RemoteEvent("\(conformance.subject).in", over: conformance.first)
    let dead = RemoteEvent<Int>("\(conformance.subject).dead", over: conformance.second)
    dead.addHandler { [deadNumbers] number in deadNumbers.withLock { $0.append(number) } }
    try await dead.listen(as: "\(conformance.check)_dead", startingAt: .first)
    letters = dead
  }

  private let letters: RemoteEvent<Int>
  var clock: any Clock<Duration> { conformance.clock }
  var calls: [Int] { log.withLock { calls in calls.map { $0 } } }
  var dead: [Int] { deadNumbers.withLock { numbers in numbers.map { $0 } } }

  func note(_ number: Int) { log.withLock { $0.append(number) } }
  func sleep(_ milliseconds: Int) async throws { try await clock.sleep(for: .milliseconds(milliseconds)) }
  func publish(_ numbers: ClosedRange<Int>) async throws { for number in numbers { try await event.publish(number) } }

  /// Publishes, and then listens, so that several messages come at once.
  func begin(_ numbers: ClosedRange<Int>) async throws {
    try await publish(numbers)
    try await event.listen(
      as: "\(conformance.check)_one", startingAt: .first, retry: .immediately(attempts: 2),
      deadLetter: "\(conformance.subject).dead")
  }

  /// Waits for calls, and then long enough for an unwanted one.
  func expect(_ expected: [Int], dead expectedDead: [Int] = [], inOrder: Bool = true) async throws {
    func found() -> Bool { (inOrder ? calls : calls.sorted()) == expected && dead.sorted() == expectedDead }
    try await conformance.eventually(
      "expected the calls \(expected) and the dead letters \(expectedDead), got \(calls) and \(dead)"
    ) { found() }
    try await conformance.pause(.milliseconds(400))
    try conformance.expect(
      found(), "expected the calls \(expected) and the dead letters \(expectedDead) for good, got \(calls) and \(dead)")
  }

  func end() {
    event.finish()
    letters.finish()
  }
}

extension TransportConformance {
  /// Checks of what a handler's options do to a message of a stream: one for each cell of the table
  /// in the article *Past one machine*. On a transport without a stream they do nothing.
  public static let handlerChecks: [Check] = HandlerCell.all.map { cell in
    Check(name: cell.name) { conformance in
      guard conformance.isAtLeastOnce, conformance.first.promises.hasGroups else { return }
      let run = try await HandlerCellRun(conformance)
      defer { run.end() }
      try await cell.body(run)
    }
  }
}

extension HandlerCell {
  static let all: [HandlerCell] = handled + endings + newest + bounds + locks + others

  private static let handled = [
    HandlerCell(name: "returns") { run in
      run.event.addHandler { run.note($0) }
      try await run.begin(1...3)
      try await run.expect([1, 2, 3])
    },
    HandlerCell(name: "isFiltered") { run in
      let token = run.event.filter { $0 == 2 }.addHandler { run.note($0) }
      try await run.begin(1...3)
      try await run.expect([2])
      run.event.remove(token)
      run.event.addHandler { run.note(-$0) }
      try await run.expect([2])
    },
    HandlerCell(name: "throws") { run in
      run.event.addHandler { number async throws in
        run.note(number)
        if number == 2 { throw HandlerCellRun.Refused() }
      }
      try await run.begin(1...3)
      try await run.expect([1, 2, 2, 3], dead: [2], inOrder: false)
    },
    HandlerCell(name: "throwsAfterAllAttempts") { run in
      run.event.add(
        Handler<Int>(.retrying(.immediately(attempts: 2), clock: run.clock)) { number async throws in
          run.note(number)
          throw HandlerCellRun.Refused()
        })
      try await run.begin(1...1)
      try await run.expect([1, 1, 1, 1], dead: [1])
    },
    HandlerCell(name: "batchThrows") { run in
      run.event.batches(of: 3, within: .milliseconds(50), clock: run.clock).addHandler { _ async throws in
        throw HandlerCellRun.Refused()
      }
      try await run.begin(1...3)
      try await run.expect([], dead: [1, 2, 3])
    },
    HandlerCell(name: "timesOut") { run in
      run.event.add(
        Handler<Int>(.timingOut(after: .milliseconds(50), clock: run.clock)) { number async throws in
          run.note(number)
          try await run.sleep(60_000)
        })
      try await run.begin(1...1)
      try await run.expect([1, 1], dead: [1])
    },
  ]

  /// When the handler ends, two of three messages are still waiting on its lane. They go to the next
  /// handler.
  private static func ends(
    _ name: String, _ add: @escaping @Sendable (HandlerCellRun, @escaping @Sendable (Int) async -> Void) -> () -> Void
  ) -> HandlerCell {
    HandlerCell(name: name) { run in
      let end = add(run) { number in
        run.note(number)
        try? await run.sleep(300)
      }
      try await run.begin(1...3)
      try await run.conformance.eventually("expected a call") { run.calls == [1] }
      end()
      try await run.sleep(600)
      let calls = run.calls
      try run.conformance.expect(calls == [1], "expected the call of 1 only, got \(calls)")
      run.event.remoteOccurrences.addHandler { run.note($0.payload * 10 + $0.attempt) }
      try await run.conformance.eventually("expected 2 and 3 again, got \(run.calls)") { run.calls.count == 3 }
      try await run.expect([1, 21, 31], inOrder: false)  // what comes again has no order
    }
  }

  private static let endings = [
    ends("isRemoved") { run, body in
      let token = run.event.addHandler { number async in await body(number) }
      return { run.event.remove(token) }
    },
    ends("isUsedUp") { run, body in
      run.event.once { number async in await body(number) }
      return {}
    },
    ends("losesItsOwner") { run, body in
      let owner = Guarded<HandlerCellRun.Owner?>(HandlerCellRun.Owner())
      if let object = owner.withLock({ $0 }) {
        run.event.addHandler(owner: object) { _, number async in await body(number) }
      }
      return {
        let gone = owner.withLock { owner in
          defer { owner = nil }
          return owner
        }
        withExtendedLifetime(gone) {}
      }
    },
    ends("losesItsBag") { run, body in
      let bag = HandlerBag()
      run.event.addHandler { number async in await body(number) }.store(in: bag)
      return { bag.removeAll() }
    },
    HandlerCell(name: "endsBesideAnother") { run in
      run.event.addHandler { run.note($0) }
      run.event.once { (_: Int) async in }
      try await run.begin(1...3)
      try await run.expect([1, 2, 3])
    },
    HandlerCell(name: "hasAViewWithMemory") { run in
      run.event.map { $0 / 10 }.removeDuplicates().addHandler { number async throws in
        run.note(number)
        if run.calls.count == 1 { throw HandlerCellRun.Refused() }
      }
      try await run.begin(10...10)
      try await run.expect([1, 1])
      try await run.publish(11...12)
      try await run.expect([1, 1])
    },
  ]

  /// Of three messages that come at once, the handler gets the last, and perhaps the first.
  private static func keepsTheNewest(
    _ name: String, _ add: @escaping @Sendable (HandlerCellRun, @escaping @Sendable (Int) async throws -> Void) -> Void
  ) -> HandlerCell {
    HandlerCell(name: name) { run in
      let ended = Guarded<[Int]>([])
      add(run) { number in
        run.note(number)
        try await run.sleep(100)
        ended.withLock { $0.append(number) }
      }
      try await run.begin(1...3)
      try await run.conformance.eventually("expected the call of 3 to end, after \(run.calls)") {
        ended.withLock { $0.last } == 3
      }
      let calls = run.calls
      try await run.sleep(1_500)
      try run.conformance.expect(run.calls == calls, "expected no call after \(calls), got \(run.calls)")
      try run.conformance.expect(Set(calls).count == calls.count, "expected each message once, got \(calls)")
    }
  }

  private static let newest = [
    keepsTheNewest("isThrottled") { run, body in
      run.event.add(Handler<Int>(.throttled(every: .milliseconds(200), clock: run.clock)) { try await body($0) })
    },
    keepsTheNewest("isDebounced") { run, body in
      run.event.add(Handler<Int>(.debounced(for: .milliseconds(200), clock: run.clock)) { try await body($0) })
    },
    keepsTheNewest("isRestarted") { run, body in run.event.addHandler(.cancellingPrevious) { try await body($0) } },
    keepsTheNewest("keepsTheLatest") { run, body in
      run.event.addHandler(.buffering(.latest), on: .inOrder) { try await body($0) }
    },
  ]

  private static func drops(_ name: String, _ buffering: Buffering) -> HandlerCell {
    HandlerCell(name: name) { run in
      run.event.addHandler(.buffering(buffering), on: .inOrder) { number async in
        run.note(number)
        try? await run.sleep(20)
      }
      try await run.begin(1...6)
      try await run.expect([1, 2, 3, 4, 5, 6], inOrder: false)
    }
  }

  private static let bounds = [drops("dropsTheOldest", .newest(2)), drops("dropsTheNewest", .oldest(2))]

  /// A lock of 500 ms. Then each message is handled once.
  private static func isLocked(_ name: String, _ holding: Buffering?, onALane: Bool, inOrder: Bool) -> HandlerCell {
    HandlerCell(name: name) { run in
      let token =
        onALane ? run.event.addHandler { number async in run.note(number) } : run.event.addHandler { run.note($0) }
      run.event.lock(token, holding: holding)
      try await run.begin(1...3)
      try await run.sleep(500)
      try run.conformance.expect(run.calls.isEmpty, "expected no call under the lock, got \(run.calls)")
      run.event.unlock(token)
      try await run.expect([1, 2, 3], inOrder: inOrder)
    }
  }

  private static let locks = [
    isLocked("isLocked", nil, onALane: false, inOrder: false),
    isLocked("isLockedWithHolding", .oldest(10), onALane: false, inOrder: true),
    isLocked("isLockedWithHoldingOnALane", .oldest(10), onALane: true, inOrder: true),
    isLocked("holdsMoreThanItMay", .oldest(1), onALane: false, inOrder: false),
    HandlerCell(name: "isLockedWhileCallsWait") { run in
      let token = run.event.addHandler { number async in
        run.note(number)
        try? await run.sleep(100)
      }
      try await run.begin(1...3)
      try await run.conformance.eventually("expected a call") { run.calls == [1] }
      run.event.lock(token, holding: .oldest(10))
      try await run.sleep(500)
      try run.conformance.expect(run.calls == [1], "expected no call under the lock, got \(run.calls)")
      run.event.unlock(token)
      try await run.expect([1, 2, 3])
    },
    HandlerCell(name: "isLockedWithHoldingOfTheLatest") { run in
      let token = run.event.addHandler { run.note($0) }
      run.event.lock(token, holding: .latest)
      try await run.begin(1...3)
      try await run.sleep(500)
      run.event.unlock(token)
      try await run.expect([3])
    },
    HandlerCell(name: "isRemovedUnderALockThatHolds") { run in
      let token = run.event.addHandler { run.note($0) }
      run.event.lock(token, holding: .oldest(10))
      try await run.begin(1...3)
      try await run.sleep(300)
      run.event.remove(token)
      run.event.addHandler { run.note(-$0) }
      try await run.expect([-3, -2, -1], inOrder: false)
    },
  ]

  private static let others = [
    HandlerCell(name: "isALoop") { run in
      let numbers = run.event.payloads()
      try await run.begin(1...3)
      for await number in numbers {
        run.note(number)
        if number == 2 { break }
      }
      run.event.removeAll()
      run.event.addHandler { run.note(-$0) }
      try await run.expect([1, 2, -2, -3].sorted(), inOrder: false)
    },
    HandlerCell(name: "isALoopThatIsCancelled") { run in
      let numbers = run.event.payloads()
      let task = Task(executorPreference: EventContext.executor) {
        for await number in numbers {
          run.note(number)
          try await run.sleep(60_000)
        }
      }
      try await run.begin(1...1)
      try await run.conformance.eventually("expected a call") { run.calls == [1] }
      task.cancel()
      _ = try? await task.value
      run.event.removeAll()
      run.event.addHandler { run.note(-$0) }
      try await run.expect([1, -1])
    },
    HandlerCell(name: "forwards") { run in
      let local = Event<Int>("local")
      run.event.forward(to: local)
      local.addHandler { number async throws in
        run.note(number)
        if number == 2 { throw HandlerCellRun.Refused() }
      }
      try await run.begin(1...3)
      try await run.expect([1, 2, 2, 3], dead: [2], inOrder: false)
    },
  ]
}
