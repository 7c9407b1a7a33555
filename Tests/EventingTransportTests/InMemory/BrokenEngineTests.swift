import Eventing
import EventingTesting
import EventingTransport
import Testing

/// `TransportConformance` finds an engine that breaks a promise, and says what it found.
@Suite(.timeLimit(.minutes(10))) struct BrokenEngineTests {
  typealias Fault = FaultyTransport.Fault

  static func conformance(_ engine: FaultyTransport) -> TransportConformance {
    TransportConformance(prefix: "test", pause: Simulation.clock, patience: .seconds(3)) {
      engine.connectedAgain()
    } restart: {
      engine.base.disconnect()
      engine.base.reconnect(forgettingWhatIsInHand: true)
    } close: { transport in
      await (transport as? FaultyTransport)?.close(within: .milliseconds(300))
    } vanish: { transport in
      (transport as? FaultyTransport)?.vanish()
    }
  }

  static func run(
    _ name: String, _ fault: Fault?, _ faults: [InMemoryTransport.Fault] = [],
    _ change: @escaping @Sendable (inout FaultyTransport) -> Void = { _ in }
  ) throws {
    let check = try #require(TransportConformance.checks.first { $0.name == name })
    try Simulation.run(seed: 3, limit: 1_000_000) {
      var engine = FaultyTransport(InMemoryTransport(seed: 2, faults: faults, clock: Simulation.clock), fault)
      change(&engine)
      try await conformance(engine).run(check)
    }
  }

  /// Expects that a check fails, and that its error contains a text.
  static func expectFailure(
    _ name: String, _ text: String, _ fault: Fault?, _ faults: [InMemoryTransport.Fault] = [],
    _ change: @escaping @Sendable (inout FaultyTransport) -> Void = { _ in }
  ) {
    let failure = #expect(throws: SimulationFailure.self) { try run(name, fault, faults, change) }
    guard let found = failure?.error as? ConformanceFailure else {
      Issue.record("expected \(name) to fail with \"\(text)\", got \(failure?.description ?? "no failure")")
      return
    }
    #expect(found.check == name && found.description.hasPrefix("\(name): "))
    #expect(found.description.contains(text), "with the fault \(fault.map { "\($0)" } ?? "none")")
  }

  /// Checks that `FaultyTransport` without a fault keeps all promises. So in the other tests, the
  /// planted fault is what a check finds.
  @Test(arguments: TransportConformance.checks) func withoutAFaultItConforms(check: TransportConformance.Check) throws {
    try Self.run(check.name, nil)
  }

  @Test(arguments: [
    ("delivers", "expected a message, got none", Fault.swallowsAll),
    ("delivers", "expected one message", .beginsTwice),
    ("delivers", "expected the body", .changesBody),
    ("delivers", "expected the subject", .changesSubject),
    ("delivers", "expected the header Trace", .changesHeaders),
    ("delivers", "expected the id", .changesIDs),
    ("delivers", "expected a position, got none", .hasNoPositions),
    ("delivers", "expected attempt 1, got 2", .countsDouble),
    ("order", "expected 200 messages", .swallows(100)),
    ("order", "expected 1 to 200 in order", .beginsTwice),
    ("forward", "expected 200 messages", .swallows(100)),
    ("forward", "expected 1 to 200 in order", .entersEarly),
    ("groups", "expected 100 messages in", .swallows(50)),
    ("groups", "expected each of 1 to 100 once in", .hasNoGroups),
    ("wildcard", "expected three messages", .swallows(3)),
    ("wildcard", "expected a, b and c", .takesAllWords),
    ("largeBodies", "expected a body of", .swallowsAll),
    ("largeBodies", "bytes as they were, got others", .changesBody),
    ("largeBodies", "expected tooLarge for 1048577 bytes, got no error", .acceptsAnything),
  ]) func whatArrivesIsJudged(name: String, text: String, fault: Fault) {
    Self.expectFailure(name, text, fault)
  }

  @Test(arguments: [
    ("inFlight", "expected 5 messages in hand, got 0", Fault.swallowsAll),
    ("inFlight", "expected 5 messages in hand, got 12", .hasNoBound),
    ("readiness", "expected no messages while the subscription is not ready", .isAlwaysReady),
    ("readiness", "expected the other member to have 3 messages", .swallows(2)),
    ("readiness", "expected 4 after the subscription became ready, got []", .neverLooksAgain),
    ("retry", "expected three attempts", .countsDouble),
    ("retry", "expected the attempts 1, 2, 3", .countsNothing),
    ("release", "expected the message three times, got 0", .swallowsAll),
    ("release", "expected the first attempt three times", .countsDouble),
    ("reject", "expected an incident deadLetter, got none", .retriesRejected),
    ("reject", "expected the message once, got 2", .beginsTwice),
    ("deadLetter", "expected a dead letter, got none", .countsNothing),
    ("deadLetter", "expected three attempts", .countsDouble),
    ("deadLetter", "expected the message as it was", .changesHeaders),
    ("deadLetter", "expected a dead letter, got none", .beginsTwice),
    ("deadLetterQueue", "expected two attempts of four messages", .countsDouble),
    ("deadLetterQueue", "expected letters that say what happened", .changesHeaders),
    ("backlog", "expected 0 waiting and 0 in hand, got 0 waiting, 1 in hand", .miscounts),
    ("reusedIDs", "expected a duplicate", .makesNewIDs),
    ("reusedIDs", "expected an incident for another body", .isSilent),
    ("bytes", "expected two messages, got [0]", .swallows(1)),
    ("duplicates", "expected the second one to be a duplicate", .makesNewIDs),
    ("duplicates", "expected one position", .hasNoReceipts),
    ("duplicates", "expected a message, got none", .swallowsAll),
    ("duplicates", "expected one message, got 2", .beginsTwice),
    ("positions", "expected positions", .hasNoReceipts),
    ("positions", "expected [1, 2, 3, 4] from first, got []", .startsAt(.new)),
    ("positions", "expected [3, 4] from position(3), got [1, 2, 3, 4]", .startsAt(.first)),
    ("positions", "expected 5, got []", .swallows(5)),
    ("positions", "expected 6, got []", .forgetsGroups),
  ]) func whatASubscriptionDoesIsJudged(name: String, text: String, fault: Fault) {
    Self.expectFailure(name, text, fault)
  }

  @Test(arguments: [
    ("memberDies", "expected 20 messages in hand, got 0", Fault.swallowsAll),
    ("memberDies", "expected 20 messages again, got []", .neverEnds),
    ("cancelUnderLoad", "expected the last message", .swallows(300)),
    ("cancelUnderLoad", "expected no gap", .swallows(290)),
    ("drain", "expected 4 messages in hand, got 0", .swallowsAll),
    ("drain", "expected the rest again", .swallows(7)),
    ("drain", "expected what had no verdict again", .neverEnds),
    ("drain", "expected nothing new after the drain", .speaksAfterTheEnd),
    ("requests", "expected noResponders, got a reply", .repliesWithoutResponder),
    ("requests", "expected the reply", .changesReplies),
    ("requests", "expected timedOut, got a reply", .hasNoTimeLimit),
    ("restart", "expected 100 messages to be stored, got 99", .refuses(40)),
    ("restart", "expected 1 to 100", .loses(40)),
    ("closes", "expected 4 messages in hand", .swallowsAll),
    ("closes", "expected 1 to 8 at another member, got [5, 6, 7, 8]", .neverCloses),
    ("closes", "expected 1 to 8 at another member", .swallows(7)),
    ("closes", "expected nothing new after the end", .speaksAfterTheEnd),
    ("closes", "expected closed for a message, got no error", .staysOpen),
    ("memberVanishes", "expected 1 to 8 at another member, got [5, 6, 7, 8]", .neverVanishes),
  ]) func endsAndRequestsAreJudged(name: String, text: String, fault: Fault) {
    Self.expectFailure(name, text, fault)
  }

  /// Checks faults of the engine in memory, and engines that declare a promise and do not keep it.
  @Test func repetitionsAndFalsePromisesAreFound() {
    Self.expectFailure("memberDies", "expected each of 1 to 20", nil, [.duplicate(1)])
    Self.expectFailure("drain", "expected no message that was handled", nil, [.duplicate(1)])
    Self.expectFailure("atMostOnce", "expected each of 1 to 20 once", nil) { $0.promises.isAtLeastOnce = false }
    Self.expectFailure("atMostOnce", "expected 20 messages", nil) { $0 = FaultyTransport($0.base.plain, .swallows(9)) }
  }

  @Test(arguments: [
    ("expected 5 messages", Fault.swallows(5)), ("expected a message after the restart", .swallowsFrom(6)),
    ("expected each message once", .beginsTwiceFrom(6)),
  ]) func anEngineWithoutStorageMustGoOnAfterARestart(text: String, fault: Fault) {
    Self.expectFailure("restart", text, nil) { $0 = FaultyTransport($0.base.plain, fault) }
  }

  /// Checks that `TransportConformance` finds no fault in an engine that breaks a promise which it
  /// does not make.
  @Test(arguments: [
    ("order", Fault.beginsTwice), ("groups", .hasNoGroups), ("requests", .repliesWithoutResponder),
    ("retry", .countsNothing),
  ]) func whatIsNotPromisedIsNotChecked(name: String, fault: Fault) throws {
    try Self.run(name, fault) { engine in
      engine.promises = TransportPromises(isAtLeastOnce: false)
      engine.promises.keepsOrder = false
      engine.promises.hasGroups = false
      engine.promises.hasRequests = false
    }
  }

  /// No check asks an engine without groups for a group, or for what only a group can give.
  @Test(arguments: TransportConformance.checks, [true, false])
  func anEngineWithoutGroupsConforms(check: TransportConformance.Check, isStream: Bool) throws {
    try Self.run(check.name, nil) { engine in
      engine = FaultyTransport(isStream ? engine.base : engine.base.plain, .refusesGroups)
      engine.promises.hasGroups = false
    }
  }

  @Test func allChecksRunUntilOneFails() throws {
    #expect(Set(TransportConformance.checks).count == TransportConformance.checks.count)
    #expect(Set(TransportConformance.checks.map(\.description)).count == TransportConformance.checks.count)
    for (fault, name) in [(Fault.countsDouble, "delivers"), (.hasNoGroups, "groups"), (.hasNoReceipts, "duplicates")] {
      let failure = #expect(throws: SimulationFailure.self) {
        try Simulation.run(seed: 1, limit: 1_000_000) {
          let engine = FaultyTransport(InMemoryTransport(clock: Simulation.clock), fault)
          try await Self.conformance(engine).runAll()
        }
      }
      #expect((failure?.error as? ConformanceFailure)?.check == name)
    }
    try Simulation.run(seed: 1, limit: 1_000_000) {
      try await Self.conformance(FaultyTransport(InMemoryTransport(clock: Simulation.clock))).runAll()
    }
  }
}
