import Eventing
import Synchronization

extension Meddle {
  /// The part of a handler that checks its calls and injects faults.
  final class Callee: Sendable {
    let world: World
    private let canary = Canary(.handler)
    private let fate: UInt64
    private let isOnce: Bool
    /// The limit of overlapping calls. Nil for no limit.
    private let limit: Int?
    private let calls = Counter()
    private let running = Counter()
    /// The lowest sequence number that the next call with an ``EventOccurrence`` may have: the
    /// number of the latest such call, plus one. Before the first call it is 0. An event that is
    /// made with a current payload to replay gives this payload to new handlers as occurrence 0,
    /// until the first send replaces it.
    private let nextSequence = Atomic<UInt64>(0)

    init(_ world: World, _ worker: Worker, isOnce: Bool = false, limit: Int? = nil) {
      self.world = world
      fate = worker.makeFate()
      self.isOnce = isOnce
      self.limit = limit
    }

    /// Runs a call of a synchronous handler.
    func call(_ freight: some Freight) throws {
      let number = begin(freight)
      defer { running.add(-1) }
      var luck = Random(seed: fate, number)
      if freight.depth > 0 { world.react(to: freight, &luck) }
      world.inspect(freight, "at the end of a call")
      try world.checks.faults.meet(fate, number)
    }

    /// Runs a call of an asynchronous handler, on the actor where it began.
    func callInTask(_ freight: some Freight) async throws {
      let number = begin(freight)
      defer { running.add(-1) }
      var luck = Random(seed: fate, number)
      let isOnMain = MainQueue.isHere
      await world.checks.faults.delayTask(&luck, isSuspended: luck.oneIn(8))
      if isOnMain { expectMain("after a delay") }
      if freight.depth > 0 {
        let verb = luck.below(12)
        await world.reactInTask(verb, to: freight, &luck)
        if isOnMain { expectMain("after verb \(verb) of a handler") }
      }
      world.inspect(freight, "at the end of an asynchronous call")
      try world.checks.faults.fail(&luck)
    }

    /// Checks that the call of a handler on the main actor runs there.
    func expectMain(_ place: @autoclosure () -> String) {
      world.checks.expect(.g13, MainQueue.isHere, "a handler of the main actor is off the main queue \(place())")
    }

    /// Runs a call of a handler that receives no ``Freight``. Checks the call, but no payload.
    func callEmpty() throws {
      let number = begin()
      defer { running.add(-1) }
      try world.checks.faults.meet(fate, number)
    }

    /// Runs a call with an occurrence, for a handler that is called in order.
    func call(_ occurrence: EventOccurrence<some Freight>) throws {
      let next = nextSequence.exchange(occurrence.sequence + 1, ordering: .relaxed)
      world.checks.expect(.g1, occurrence.sequence >= next, "expected \(next) or later, got \(occurrence.sequence)")
      if let owner = occurrence.sender as? Owner {
        world.checks.expect(.g10, owner.isWhole, "a sender is not whole")
      }
      try call(occurrence.payload)
    }

    /// Runs a call with an owner, which must be alive.
    func call(_ freight: some Freight, _ owner: Owner) throws {
      world.checks.expect(.g10, owner.isWhole, "a handler was called with an owner that is not whole")
      try call(freight)
    }

    /// Runs an asynchronous call with an owner, which must be alive until the end of the call.
    func callInTask(_ freight: some Freight, _ owner: Owner) async throws {
      try await callInTask(freight)
      world.checks.expect(.g10, owner.isWhole, "a handler was called with an owner that is not whole")
    }

    private func begin(_ freight: some Freight) -> Int {
      world.inspect(freight, "where a handler is called")
      return begin()
    }

    private func begin() -> Int {
      let (number, checks) = (calls.add(), world.checks)
      world.calls.add()
      checks.expect(.g22, canary.isAlive, "a handler was called after the release of its closure")
      if isOnce { checks.expect(.g8, number == 1, "call \(number) of a handler that is called once") }
      let now = running.add()
      if let limit { checks.expect(.g13, now <= limit, "\(now) calls of a handler overlap; the limit is \(limit)") }
      if let badge = Meddle.badge { checks.expect(.g21, badge.isWhole, "a task-local value is not whole") }
      return number
    }
  }
}

// Makes handlers call the methods that workers call. The depth of the payload limits the nesting.
extension Meddle.World {
  /// Calls a method that does not suspend, inside a handler.
  func react(to freight: some Meddle.Freight, _ luck: inout Random) {
    guard luck.oneIn(2) else { return }
    checks.faults.count(.reenter)
    switch luck.below(10) {
    case 0: pairs.current.post(freight.next())
    case 1: triples.current.post(freight.next(), from: owners.current)
    case 2: observedPair.current.value = freight.next()
    case 3: keyed.current.post(freight.next(), to: key(luck.below(12)))
    case 4: objects.current.post(freight.next(), to: owners.current)
    case 5: buses.current.post(freight.next(Meddle.Pair.self))
    case 6:
      if let token = tokens.pick(luck.below(48)) { pairs.current.remove(token) }
    case 7:
      guard let token = tokens.pick(luck.below(48)) else { return }
      if luck.oneIn(2) { triples.current.lock(token, holding: .latest) } else { triples.current.unlock(token) }
    case 8:
      let (canary, checks) = (Canary(.handler), checks)
      keep(
        choices.current.once { choice in
          checks.expect(.g21, choice.isWhole && canary.isAlive, "a payload is not whole for a handler of a handler")
        })
    default: tickets.put(choices.current.submit(freight.next()))
    }
  }

  /// Calls one of the public methods that suspend, inside an asynchronous handler.
  ///
  /// - Parameters:
  ///   - verb: The number of the method: a case of the switch. The `default` case calls
  ///     ``react(to:_:)``, which does not suspend.
  ///   - freight: The payload of the current call. `freight.next()` is the payload that is sent.
  ///   - luck: The source of random numbers of the current call.
  func reactInTask(_ verb: Int, to freight: some Meddle.Freight, _ luck: inout Random) async {
    switch verb {
    case 0: inspect(await pairs.current.send(freight.next()))
    case 1: inspect(await triples.current.send(freight.next(), from: owners.current))
    case 2: if let ticket = tickets.pick(luck.below(12)) { inspect(await ticket.report) }
    case 3: if let ticket = tickets.last { inspect(await ticket.report) }
    case 4:
      let ticket = crates.current.submit(freight.next())
      tickets.put(ticket)
      inspect(await ticket.report)
    case 5: await choices.current.quiesce()
    case 6: inspect(await keyed.current.send(freight.next(), to: key(luck.below(12))))
    case 7:
      let answer = try? await questions.current.firstAnswer(to: freight.next(), within: .microseconds(200))
      if let answer { inspect(answer, "as an answer") }
    case 8: inspect(await history.current.handlers())
    default: react(to: freight, &luck)
    }
  }

  // MARK: Results of calls

  func inspect(_ report: SendReport) {
    let numbers = [report.delivered, report.skipped, report.dropped, report.deferred, report.held]
    checks.expect(.g21, numbers.allSatisfy { $0 >= 0 }, "a report with a number below 0: \(report)")
    for failure in report.failures {
      checks.expect(.g19, failure.error is Faults.Problem, "a handler failed that threw nothing: \(failure)")
    }
  }

  func inspect(_ handlers: [HandlerSnapshot]) {
    for handler in handlers {
      let numbers = [handler.callCount, handler.skippedCount, handler.droppedCount, handler.heldCount]
      checks.expect(.g21, numbers.allSatisfy { $0 >= 0 }, "a handler with a number below 0: \(handler)")
      checks.expect(.g8, !handler.isOnce || handler.callCount <= 1, "a once handler was called again: \(handler)")
    }
  }

  /// Returns one of a dozen keys. Two keys with equal numbers are equal, but each has a
  /// ``Meddle/Mark`` of its own.
  func key(_ number: Int) -> Meddle.HostileKey {
    Meddle.HostileKey(number: number, mark: Meddle.Mark(number), target: otherPairs)
  }
}
