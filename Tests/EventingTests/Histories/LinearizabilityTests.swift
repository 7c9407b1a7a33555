import Eventing
import Testing

/// Tests that the search for a sequential order refuses histories that no event can have.
@Suite(.serialized, .fewAtATime) struct LinearizabilityTests {
  private static func isAccepted(_ actions: [(Operation.Action, Bool?, ClosedRange<Int>)]) -> Bool {
    let operations = actions.flatMap { action, wasThere, time in
      var all = [Operation(action: action, wasThere: wasThere, start: time.lowerBound, end: time.upperBound)]
      if case .add(let handler) = action { all[0].action = .place(handler.number) }
      return all
        + (all[0].action == action ? [] : [Operation(action: action, start: time.lowerBound, end: time.upperBound)])
    }
    if case .linearizable = Linearizability.judge(operations) { return true }
    return false
  }

  private static func add(_ number: Int, once: Bool = false, lane: Bool = false, _ time: ClosedRange<Int>) -> (
    Operation.Action, Bool?, ClosedRange<Int>
  ) {
    (.add(.init(number: number, isOnce: once, hasLane: lane)), nil, time)
  }

  private static func call(_ occurrence: Int, _ handler: Int, _ time: ClosedRange<Int>) -> (
    Operation.Action, Bool?, ClosedRange<Int>
  ) {
    (.call(occurrence: occurrence, handler: handler), nil, time)
  }

  @Test func aPostDuringAnAddMayReachTheHandlerAndALaterOneMust() {
    #expect(Self.isAccepted([Self.add(0, 1...4), (.post(0), nil, 2...6), Self.call(0, 0, 3...5)]))
    #expect(Self.isAccepted([Self.add(0, 1...4), (.post(0), nil, 2...6)]))  // the post may have come before the add
    #expect(!Self.isAccepted([Self.add(0, 1...2), (.post(0), nil, 3...6)]), "an occurrence is lost")
    #expect(
      !Self.isAccepted([(.post(0), nil, 1...2), Self.add(0, 3...4), Self.call(0, 0, 5...6)]), "it was sent before")
  }

  @Test func noHandlerIsCalledAfterItsRemovalOrLock() {
    let add = Self.add(0, 1...2)
    #expect(Self.isAccepted([add, (.post(0), nil, 3...9), (.remove(0), true, 4...7), Self.call(0, 0, 3...8)]))
    #expect(!Self.isAccepted([add, (.post(0), nil, 3...9), (.remove(0), true, 4...5), Self.call(0, 0, 6...8)]))
    #expect(!Self.isAccepted([add, (.post(0), nil, 3...9), (.lock(0), true, 4...5), Self.call(0, 0, 6...8)]))
    #expect(
      !Self.isAccepted([
        add, (.gate(0, true, part: .init(change: 1, count: 1)), nil, 3...4), (.post(0), nil, 5...9),
        Self.call(0, 0, 6...8),
      ]))
    #expect(!Self.isAccepted([add, (.remove(0), true, 3...4), (.remove(0), true, 5...6)]), "it goes once")
  }

  @Test func onceIsOnceAndEachOccurrenceComesInItsOrder() {
    let once = Self.add(0, once: true, 1...2)
    #expect(Self.isAccepted([once, (.post(0), nil, 3...4), Self.call(0, 0, 3...4), (.remove(0), false, 5...6)]))
    #expect(!Self.isAccepted([once, (.post(0), nil, 3...4), Self.call(0, 0, 3...4), (.remove(0), true, 5...6)]))
    #expect(
      !Self.isAccepted([
        once, (.post(0), nil, 3...8), (.post(1), nil, 3...8), Self.call(0, 0, 4...5), Self.call(1, 0, 6...7),
      ]))
    for lane in [false, true] {
      let two = [Self.add(0, lane: lane, 1...2), (.post(0), nil, 3...4), (.post(1), nil, 5...6)]
      #expect(Self.isAccepted(two + [Self.call(0, 0, 3...8), Self.call(1, 0, 9...10)]))
      #expect(!Self.isAccepted(two + [Self.call(1, 0, 5...8), Self.call(0, 0, 9...10)]), "out of order")
    }
  }

  @Test func handlersAreCalledInTheirOrderAndOneOccurrenceAfterTheOther() {
    let two =
      [Self.add(0, 1...2), Self.add(1, 3...4), (.post(0), nil, 5...20), (.post(1), nil, 5...20)]
      as [(Operation.Action, Bool?, ClosedRange<Int>)]
    #expect(
      Self.isAccepted(
        two + [Self.call(0, 0, 6...7), Self.call(0, 1, 8...9), Self.call(1, 0, 10...11), Self.call(1, 1, 12...13)]))
    #expect(
      !Self.isAccepted(
        two + [Self.call(0, 1, 6...7), Self.call(0, 0, 8...9), Self.call(1, 0, 10...11), Self.call(1, 1, 12...13)]))
    #expect(
      !Self.isAccepted(
        two + [Self.call(0, 0, 6...7), Self.call(1, 0, 8...9), Self.call(0, 1, 10...11), Self.call(1, 1, 12...13)]))
  }

  @Test func aReportCountsTheCallsThatTookPlace() {
    let told = [
      Self.add(0, 1...2), Self.add(1, 3...4), (.lock(1), true, 5...6), (.post(0), nil, 7...10), Self.call(0, 0, 8...9),
    ]
    func report(_ delivered: Int, _ skipped: Int) -> Bool {
      Self.isAccepted(told + [(.report(occurrence: 0, delivered: delivered, skipped: skipped), nil, 7...11)])
    }
    #expect(report(1, 1))
    #expect(!report(1, 0))
    #expect(!report(2, 1))
    #expect(!report(1, 2))
  }

  @Test func aHandlerThatStaysUntilTheReportIsCounted() {
    let locked =
      [Self.add(0, 1...2), (.lock(0), true, 3...4), (.post(0), nil, 5...6)]
      as [(Operation.Action, Bool?, ClosedRange<Int>)]
    func report(_ skipped: Int) -> (Operation.Action, Bool?, ClosedRange<Int>) {
      (.report(occurrence: 0, delivered: 0, skipped: skipped), nil, 6...7)
    }
    #expect(Self.isAccepted(locked + [report(1), (.remove(0), true, 8...9)]))
    #expect(!Self.isAccepted(locked + [report(0), (.remove(0), true, 8...9)]))
    #expect(Self.isAccepted(locked + [report(0), (.remove(0), true, 5...9)]))  // the removal may precede the post
    let once = [Self.add(0, once: true, 1...2)] + locked.dropFirst()
    #expect(!Self.isAccepted(once + [report(0)]))
  }

  @Test func anEventIsLockedAsAWhole() {
    let two = [Self.add(0, 1...2), Self.add(1, 3...4)]
    func gate(_ isEventLocked: Bool, _ change: Int, _ time: ClosedRange<Int>) -> [(
      Operation.Action, Bool?, ClosedRange<Int>
    )] {
      (0..<2).map { (.gate($0, isEventLocked, part: .init(change: change, count: 2)), nil, time) }
    }
    let both = two + gate(true, 1, 5...8) + gate(false, 2, 5...8) + [(.post(0), nil, 9...10)]
    #expect(Self.isAccepted(both + [Self.call(0, 0, 9...10), Self.call(0, 1, 9...10)]))
    #expect(Self.isAccepted(both))
    #expect(!Self.isAccepted(both + [Self.call(0, 0, 9...10)]), "half of it is locked")
    let one = two + gate(true, 1, 5...12) + [(.post(0), nil, 6...9)]
    #expect(Self.isAccepted(one + [Self.call(0, 1, 7...8)]))  // `event.lock()` is still running
  }

  #if DEBUG
    /// The faults that the history of one event can show. Simulations find the other faults.
    static let mutants: [Mutant] = [
      .onceIsNotSpent, .claimIgnoresLocks, .claimIgnoresRemovals, .removalIsNotNoted, .queuedAddIsLost,
      .nestedPostIsLost, .laneIsReversed,
      .newHandlerIsNotLocked, .skipIsNotCounted,
    ]

    @Test(arguments: mutants) func aPlantedFaultIsFoundOnThreads(mutant: Mutant) async {
      await #expect(processExitsWith: .success) { [name = mutant.rawValue as String] in
        unsafe Mutant.everywhere = Mutant(rawValue: name)
        let outcome = await HistoryTests.outcome(of: 5_000, threads: 3)
        print("mutant \(name): \(outcome.judged) histories")
        #expect(!outcome.failed.isEmpty, "not found in \(outcome.judged) histories")
      }
    }
  #endif
}
