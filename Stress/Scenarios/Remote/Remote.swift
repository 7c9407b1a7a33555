import Eventing
import EventingTransport
import Synchronization

/// Publishes over an engine in memory that repeats, loses and delays messages. Meanwhile members of
/// two groups join, fail and leave. The engine disconnects, and forgets which messages are being
/// handled.
///
/// At the end every stored number must have been handled in each group (G21). In the group *b*,
/// whose handlers refuse some of the numbers for ever, a dead letter counts, too. No event of the
/// round may be left (G22).
struct Remote: Scenario {
  static let name = "remote"
  static let summary = "messages over a transport in memory, with faults and members and an engine that go"

  func round(_ context: ScenarioContext) async {
    var random = context.random()
    let bus = InMemoryTransport(
      seed: random.next(), faults: [.duplicate(0.05), .drop(0.01), .delay(upTo: .microseconds(50)), .loseReceipt(0.05)])
    let sender = RemoteEvent<[UInt8]>("stress.numbers", over: bus, codec: .bytes)
    let ledger = RemoteLedger()
    await readLetters(bus, ledger, context)
    for group in RemoteLedger.groups { await join(group, bus, ledger, context) }
    // A worker on a thread cannot await, so it publishes through a task, which the ledger awaits.
    let published = Counter()
    await context.race(steps: 12) { worker in
      let number = published.add()
      let (isLeaving, isBreaking) = (worker.random.oneIn(16), worker.random.oneIn(32))
      let group = RemoteLedger.groups[number % 2]
      ledger.begin()
      Task {
        if isBreaking { await breakConnection(bus) }
        await ledger.store(number, by: sender)
        if isLeaving { await leave(group, bus, ledger, context) }
        ledger.end()
      }
    }
    context.director.begin(.quiesce)
    let isStored = await eventually { ledger.running == 0 }
    context.checks.expect(.g20, isStored, "\(ledger.running) publishers have not ended")
    let isHandled = await eventually { ledger.missing.isEmpty }
    context.checks.expect(.g21, isHandled, "stored, and not handled: \(ledger.missing.prefix(5))")
    context.checks.expect(.g21, ledger.wrong.isEmpty, "handled, and refused: \(ledger.wrong.prefix(5))")
    context.checks.count(.g21, ledger.storedCount)
    context.overlaps += ledger.overlaps
    context.did += ledger.endedCount
    context.must += ledger.storedCount * RemoteLedger.groups.count
    for member in ledger.takeMembers() {
      context.watch(member)
      member.finish()
    }
    await bus.close(within: .seconds(5))
  }

  /// Disconnects the engine for a short time. When it comes back, it has forgotten which messages
  /// are being handled.
  private func breakConnection(_ bus: InMemoryTransport) async {
    bus.disconnect()
    await Task.yield()
    bus.reconnect(forgettingWhatIsInHand: true)
  }

  /// Listens to the dead letters of the group *b*.
  private func readLetters(_ bus: InMemoryTransport, _ ledger: RemoteLedger, _ context: ScenarioContext) async {
    let letters = RemoteEvent<[UInt8]>("stress.dead", over: bus, codec: .bytes)
    letters.addHandler { [ledger] body in ledger.noteLetter(body) }
    do {
      try await letters.listen()
      ledger.add(letters, to: "letters")
    } catch {
      context.checks.violate(.g20, "a listening was refused: \(error)")
    }
  }

  /// Adds a member to a group. Of the calls of all members together, every eighth fails.
  private func join(_ group: String, _ bus: InMemoryTransport, _ ledger: RemoteLedger, _ context: ScenarioContext) async
  {
    let member = RemoteEvent<[UInt8]>("stress.numbers", over: bus, codec: .bytes)
    member.addHandler(on: .concurrent(limit: 4)) { [ledger] body in
      let isFirst = ledger.enter()
      defer { ledger.leave() }
      if isFirst { await Task.yield() }
      try ledger.handle(body, in: group)
    }
    do {
      let hasLetters = group == RemoteLedger.groupWithLetters
      try await member.listen(
        as: group, startingAt: .first, inFlight: 16,
        retry: .backoff(from: .microseconds(100), to: .milliseconds(1), attempts: hasLetters ? 4 : 1_000),
        deadLetter: hasLetters ? "stress.dead" : nil)
      ledger.add(member, to: group)
    } catch {
      context.checks.violate(.g20, "a listening was refused: \(error)")
    }
  }

  /// Adds a new member to a group, and ends an old one.
  private func leave(_ group: String, _ bus: InMemoryTransport, _ ledger: RemoteLedger, _ context: ScenarioContext)
    async
  {
    let old = ledger.takeMember(of: group)
    await join(group, bus, ledger, context)
    old?.finish()
  }
}
