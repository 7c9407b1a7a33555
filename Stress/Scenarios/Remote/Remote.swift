import Eventing
import EventingTransport
import Synchronization

/// Publishes over an engine in memory that repeats, loses and delays messages. Meanwhile members of
/// two groups join, fail and leave, and their handlers end, are used up, or are locked while
/// messages wait for them. The engine disconnects, and forgets which messages are being handled.
///
/// At the end every stored number must have been handled in each group (G21). In the group *b*,
/// whose handlers refuse some of the numbers for ever, a dead letter counts, too. A third group has
/// handlers with a pace: what a newer number replaces is done, so some number must be
/// handled. No event of the round may be left (G22).
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
    await joinPaced(bus, ledger, context)
    // A worker on a thread cannot await, so it publishes through a task, which the ledger awaits.
    let published = Counter()
    await context.race(steps: 12) { worker in
      let number = published.add()
      let (isLeaving, isBreaking) = (worker.random.oneIn(16), worker.random.oneIn(32))
      let group = RemoteLedger.groups[number % 2]
      let isMeddling = worker.random.oneIn(4)
      ledger.begin()
      Task {
        if isBreaking { await breakConnection(bus) }
        await ledger.store(number, by: sender)
        if isMeddling, let member = ledger.member(of: group) { await meddle(member, number, group, ledger) }
        if isLeaving { await leave(group, bus, ledger, context) }
        ledger.end()
      }
    }
    context.director.begin(.quiesce)
    let isStored = await eventually { ledger.running == 0 }
    context.checks.expect(.g20, isStored, "\(ledger.running) publishers have not ended")
    let isHandled = await eventually { ledger.missing.isEmpty }
    context.checks.expect(.g21, isHandled, "stored, and not handled: \(ledger.missing.prefix(5))")
    let isPaced = await eventually { ledger.storedCount == 0 || ledger.pacedCount > 0 }
    context.checks.expect(.g21, isPaced, "no number of \(ledger.storedCount) passed a pace")
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
    switch ledger.nextKind() {
    case 0: addOnce(to: member, group, ledger)
    case 1: addHandler(to: member.removeDuplicates(), group, ledger)
    default: addHandler(to: member, group, ledger)
    }
    do {
      let hasLetters = group == RemoteLedger.groupWithLetters
      try await member.listen(
        as: group, startingAt: .first, inFlight: 16,
        retry: .exponential(from: .microseconds(100), to: .milliseconds(1), attempts: hasLetters ? 4 : 1_000),
        deadLetter: hasLetters ? "stress.dead" : nil)
      ledger.add(member, to: group)
    } catch {
      context.checks.violate(.g20, "a listening was refused: \(error)")
    }
  }

  /// Adds the handler of a member.
  private func addHandler(to source: some EventSource<[UInt8]>, _ group: String, _ ledger: RemoteLedger) {
    source.addHandler(.named("worker"), on: .concurrent(limit: 4)) { [ledger] body in
      try await handle(body, group, ledger)
    }
  }

  /// Adds a handler that is used up by one message, and then adds the next such handler. Further
  /// messages wait on its lane meanwhile.
  private func addOnce(to member: RemoteEvent<[UInt8]>, _ group: String, _ ledger: RemoteLedger) {
    member.once { [ledger, weak member] body in
      defer { if let member { addOnce(to: member, group, ledger) } }
      try await handle(body, group, ledger)
    }
  }

  private func handle(_ body: [UInt8], _ group: String, _ ledger: RemoteLedger) async throws {
    let isFirst = ledger.enter()
    defer { ledger.leave() }
    if isFirst { await Task.yield() }
    try ledger.handle(body, in: group)
  }

  /// Adds the member of the group whose handler has a pace.
  private func joinPaced(_ bus: InMemoryTransport, _ ledger: RemoteLedger, _ context: ScenarioContext) async {
    let member = RemoteEvent<[UInt8]>("stress.numbers", over: bus, codec: .bytes)
    member.addHandler(.debounced(for: .milliseconds(150))) { [ledger] (_: [UInt8]) async in ledger.notePaced() }
    do {
      try await member.listen(as: "paced", startingAt: .first)
      ledger.add(member, to: "paced")
    } catch {
      context.checks.violate(.g20, "a listening was refused: \(error)")
    }
  }

  /// Removes the handler of a member and adds another one, or locks it for a short time.
  private func meddle(_ member: RemoteEvent<[UInt8]>, _ number: Int, _ group: String, _ ledger: RemoteLedger) async {
    if number.isMultiple(of: 3) {
      if member.removeAll(where: .named("worker")) > 0 { addHandler(to: member, group, ledger) }
      return
    }
    member.lockAll(where: .named("worker"), holding: .oldest(4))
    await Task.yield()
    member.unlockAll(where: .named("worker"))
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
