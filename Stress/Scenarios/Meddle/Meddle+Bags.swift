import Eventing

// Steps of a worker. They use bags of handlers, events whose payload is two values or none, events
// to which only one worker has a reference, and tickets.
extension Meddle.World {
  func meddleWithBag(_ worker: Worker) {
    let bag = bags.current
    let callee = Meddle.Callee(self, worker, limit: 1)
    switch worker.random.below(4) {
    case 0: worker.change(.add) { pairs.current.addHandler { try callee.call($0) }.store(in: bag) }
    case 1:
      worker.change(.add) {
        triples.current.addHandler(on: .background) { try callee.call($0) }.store(in: bag)
        if let token = tokens.pick(worker.random.below(48)) { token.store(in: bag) }
      }
    case 2: worker.change(.remove) { checks.expect(.g21, bag.removeAll() >= 0, "a bag removed less than 0 handlers") }
    default: worker.action(.look) { _ = bag.description }
    }
  }

  /// Uses events of two values, signals, and handlers that are methods of owners.
  func meddleWithTuples(_ worker: Worker) {
    let (event, signal, owner) = (tuples.current, signals.current, owners.current)
    let number = worker.random.below(1 << 20)
    let callee = Meddle.Callee(self, worker, limit: 1)
    switch worker.random.below(12) {
    case 0..<4: worker.action(.post) { event.post((Meddle.Mark(number), Meddle.Mark(number))) }
    case 4: worker.action(.submit) { tickets.put(event.submit((Meddle.Mark(number), Meddle.Mark(number)))) }
    case 5:
      worker.change(.add) {
        keep(
          event.addHandler(on: .background) { first, second in
            callee.world.inspect(Meddle.Pair(first: first, second: second), "as two values")
            try callee.callEmpty()
          })
      }
    case 6: worker.change(.add) { keep(event.addHandler(owner: owner) { try $0.takeMarks($1, $2) }) }
    case 7: worker.change(.add) { keep(pairs.current.addHandler(owner: owner) { try $0.takePair($1) }) }
    case 8:
      worker.change(.add) {
        keep(
          triples.current.addHandler(on: .background, owner: owner) { [checks] in $0.takeTriple($1, checks, "bound") })
      }
    case 9: worker.action(.post) { signal.post(from: owner) }
    case 10:
      worker.change(.add) { keep(signal.addHandler(on: .background, owner: owner) { _ in try callee.callEmpty() }) }
    default:
      worker.change(.add) {
        keep(signal.addHandler(isolatedTo: accounts.current) { account, _ in _ = account.enter() })
        signal.removeAll(where: .forwarding(to: event))
      }
    }
  }

  /// Makes an event that no other worker posts to, and releases the last reference to it while
  /// other workers run.
  func meddleWithPrivateEvent(_ worker: Worker) {
    let (first, second) = (Meddle.Callee(self, worker, limit: 1), Meddle.Callee(self, worker, limit: 1))
    let freight = worker.freight(Meddle.Pair.self)
    worker.lost()
    worker.change(.remove) {
      let event = Event<Meddle.Pair>(worker.random.oneIn(2) ? "private" : nil)
      let token = event.addHandler(.named("io")) { try first.call($0) }
      event.addHandler { [weak event] pair in
        event?.post(.make(pair.number & ~3))
        event?.finish()
        try await second.callInTask(pair)
      }
      checks.expect(.g11, !stranger.contains(token) && event.contains(token), "a token is of another event")
      event.post(freight)
      let isThere = event.contains(where: .named("io"))
      let removed = event.removeAll(where: .named("io"))
      checks.expect(.g7, removed == (isThere ? 1 : 0) || removed == 0, "\(removed) handlers of one name were removed")
      tickets.put(event.submit(freight))
      for number in 0..<worker.random.below(16) {
        // No other worker has a reference to these events. But observers of new events may observe
        // them.
        let mortal = Event<Meddle.Triple>(number % 2 == 0 ? nil : "an event that dies at once, number \(number)")
        mortal.addHandler { second.world.inspect($0, "in an event that dies at once") }
        if number % 4 == 0 { mortal.post(.make(number << 2)) }
      }
    }
  }

  /// Takes a random step: adds a handler that awaits the latest ticket, adds two forwards, or adds
  /// a handler that submits an occurrence. The ticket of this occurrence is then the latest one.
  func meddleWithTickets(_ worker: Worker) {
    let (event, other, freight) = (triples.current, choices.current, worker.freight(Meddle.Pair.self))
    let canary = Canary(.handler)
    worker.change(.add) {
      switch worker.random.below(6) {
      case 0: keep(event.addHandler { [weak self] triple in await self?.waitForLatest(triple, canary) })
      case 1: keep(other.addHandler { [weak self] choice in await self?.waitForLatest(choice, canary) })
      case 2:
        keep(
          pairs.current.addHandler(on: .concurrent(limit: 2)) { [weak self] pair in
            await self?.waitForLatest(pair, canary)
          })
      case 3:
        let first = pairs.current.compactMap { .make($0.number) }.forward(to: event)
        let second = pairs.current.compactMap { .make($0.number) }.forward(to: other)
        for token in [first, second] {
          let bag = HandlerBag()
          token.store(in: bag)
          forwards.put(bag)
        }
      default:
        // The handler submits an occurrence to the current event of `pairs`, which is usually the
        // handler's own event. This event is busy while the handler runs. So the occurrence waits
        // in the mailbox, and its ticket has no report yet. Then the handler posts to `event` and
        // `other`. Handlers that `case 0` and `case 1` added there await the latest ticket, usually
        // that of the waiting occurrence.
        let slot = pairs
        pairs.current.once(.priority(9)) { [tickets] pair in
          tickets.put(slot.current.submit(freight))
          event.post(.make(freight.number & ~3))
          other.post(.make(freight.number & ~3))
          if canary.isAlive { RawThread.spin(30_000) }
        }
        pairs.current.post(.make(freight.number & ~3))
      }
    }
  }

  private func waitForLatest(_ freight: some Meddle.Freight, _ canary: Canary) async {
    inspect(freight, "where a ticket is awaited")
    guard canary.isAlive, let ticket = tickets.last else { return }
    let acceptance = await ticket.acceptance
    let report = await ticket.report
    inspect(report)
    checks.expect(.g21, acceptance.dropped <= report.dropped, "\(acceptance), and then \(report)")
  }
}

extension Meddle.Owner {
  @Sendable func takeMarks(_ first: Meddle.Mark, _ second: Meddle.Mark) throws {
    guard isWhole, first.carries(second.number) else { throw Meddle.Broken() }
  }
  @Sendable func takePair(_ pair: Meddle.Pair) throws {
    guard isWhole, pair.isWhole else { throw Meddle.Broken() }
  }
  @Sendable func takeTriple(_ triple: Meddle.Triple, _ checks: Checks, _ text: String) {
    checks.expect(.g21, isWhole && triple.isWhole && text == "bound", "a method was called with a damaged argument")
  }
}

extension Meddle {
  /// An error for a closure that finds a violation, but has no `Checks` to report it to. A failure
  /// with this error counts as a violation.
  struct Broken: Error {}
}
