import Eventing

// Calls the methods that suspend, on workers in tasks.
extension Meddle.World {
  /// Performs an operation whose task a fault may cancel, and records its span.
  private func timed(_ worker: Worker, _ activity: Activity, _ body: @escaping @Sendable () async -> Void) async {
    worker.begin(activity)
    var span = Span.open
    await worker.awaiting(body)
    span.finish()
    worker.activityLog.end()
    worker.actions.append(span)
    if activity == .send { worker.sending.add(span) }
    if activity == .look { worker.looking.add(span) }
  }

  func wait<Payload: Meddle.Freight>(at slot: Meddle.Slot<Event<Payload>>, _ worker: Worker) async {
    let (event, freight) = (slot.current, worker.freight(Payload.self))
    let (holding, number) = (holding(worker), worker.random.below(48))
    let callee = Meddle.Callee(self, worker, limit: 1)
    switch worker.random.below(16) {
    case 0..<4: await timed(worker, .send) { self.inspect(await event.send(freight)) }
    case 4: await timed(worker, .send) { self.inspect(await event.send(freight, from: self.owners.current)) }
    case 5, 6:
      let ticket = event.submit(freight)
      await timed(worker, .submit) {
        async let first = ticket.report
        async let second = ticket.report
        let sequences = await (first.sequence, second.sequence)
        self.checks.expect(.g16, sequences.0 == sequences.1, "two reports of one ticket: \(sequences)")
      }
    case 7: await timed(worker, .look) { self.inspect(await event.handlers()) }
    case 8:
      await timed(worker, .look) {
        self.inspect(await event.handlers().filter(\.isLocked))
        self.inspect(await event.handlers().filter({ !$0.isLocked }))
        self.inspect(await event.handlers(where: .ownedBy(self.owners.current)))
      }
    case 9: await timed(worker, .quiesce) { await event.quiesce() }
    case 10, 11:
      guard let token = tokens.pick(number) else { return }
      await timed(worker, .lock) {
        await event.withLocked(token, holding: holding) {
          event.post(freight)
          if number % 2 == 0 { self.inspect(await event.send(freight)) }
        }
      }
    case 12:
      await timed(worker, .add) {
        await event.withHandler(Handler { try callee.call($0) }) { self.inspect(await event.send(freight)) }
      }
    case 13:
      await timed(worker, .add) {
        await event.withHandler(Handler { try await callee.callInTask($0) }) { self.inspect(await event.send(freight)) }
      }
    case 14:
      await timed(worker, .add) {
        await event.withHandler(Handler(.tagged("io"), on: .background) { try callee.call($0) }) { event.post(freight) }
      }
    default:
      await timed(worker, .look) {
        guard let next = try? await event.next(within: .microseconds(300), where: { $0.isWhole }) else { return }
        self.inspect(next, "as the next one")
      }
    }
  }

  func waitAtKeys(_ worker: Worker) async {
    let (event, objects, owner) = (keyed.current, objects.current, owners.current)
    let (key, other) = (key(worker.random.below(12)), key(worker.random.below(12)))
    let (freight, triple) = (worker.freight(Meddle.Pair.self), worker.freight(Meddle.Triple.self))
    switch worker.random.below(10) {
    case 0, 1: await timed(worker, .send) { self.inspect(await event.send(freight, to: key)) }
    case 2:
      await timed(worker, .send) {
        for report in await event.send(freight, to: [key, other]) { self.inspect(report) }
      }
    case 3: await timed(worker, .send) { self.inspect(await event.untargeted.send(freight)) }
    case 4: await timed(worker, .send) { self.inspect(await objects.send(triple, to: owner)) }
    case 5:
      await timed(worker, .send) {
        for report in await objects.send(triple, to: [owner, Meddle.Owner()].map(ObjectKey.init)) {
          self.inspect(report)
        }
      }
    case 6: await timed(worker, .look) { self.inspect(await event.handlers()) }
    case 7: await timed(worker, .look) { self.inspect(await event.handlers(where: .key(key))) }
    case 8: await timed(worker, .quiesce) { await objects.quiesce() }
    default: await timed(worker, .quiesce) { await event.quiesce() }
    }
  }

  func waitAtObserved(_ worker: Worker) async {
    let (observed, text) = (observedPair.current, observedText.current)
    switch worker.random.below(4) {
    case 0: await timed(worker, .look) { self.inspect(await observed.handlers()) }
    case 1: await timed(worker, .quiesce) { await text.quiesce() }
    case 2:
      await timed(worker, .look) {
        let value = try? await observed.next(within: .microseconds(300))
        if let value { self.inspect(value, "as a value") }
      }
    default: await timed(worker, .quiesce) { await observed.quiesce() }
    }
  }

  func waitAtBus(_ worker: Worker) async {
    let bus = worker.random.oneIn(4) ? EventBus.shared : buses.current
    let (freight, triple) = (worker.freight(Meddle.Pair.self), worker.freight(Meddle.Triple.self))
    switch worker.random.below(4) {
    case 0, 1: await timed(worker, .send) { self.inspect(await bus.send(freight)) }
    case 2: await timed(worker, .send) { self.inspect(await bus.send(triple)) }
    default: await timed(worker, .quiesce) { await bus.quiesce() }
    }
  }

  // MARK: Questions

  /// Adds and removes responders.
  func meddleWithResponders(_ worker: Worker) {
    let question = questions.current
    let callee = Meddle.Callee(self, worker, limit: 1)
    worker.change(.add) {
      switch worker.random.below(4) {
      case 0, 1:
        keep(
          question.addResponder(.named(name(worker)), .priority(worker.random.below(2))) { query in
            try await callee.callInTask(query)
            return query.number % 3 == 0 ? nil : .make(query.number)
          })
      case 2: if let token = tokens.pick(worker.random.below(48)) { question.remove(token) }
      default: checks.expect(.g21, question.handlerCount >= 0, "a question has less than 0 responders")
      }
    }
  }

  func waitAtQuestion(_ worker: Worker) async {
    let (question, query) = (questions.current, worker.freight(Meddle.Pair.self))
    let limit: Duration? = worker.random.oneIn(3) ? nil : .microseconds(worker.random.below(400))
    let isForAll = worker.random.oneIn(2)
    await timed(worker, .send) {
      if isForAll {
        for case .success(let answer) in await question.answers(to: query, within: limit) {
          self.inspect(answer, "as an answer")
        }
      } else {
        do {
          let answer = try await question.firstAnswer(to: query, within: limit)
          let isWhole = answer.isWhole && answer.number == query.number
          self.checks.expect(.g21, isWhole, "an answer to another question")
        } catch {
          let isExpected = error is EventingError || error is CancellationError || error is Faults.Problem
          self.checks.expect(.g24, isExpected, "a question ended with \(error)")
        }
      }
    }
  }

  // MARK: Tickets

  /// Awaits tickets that handlers and other workers may await, too.
  func waitForTickets(_ worker: Worker) async {
    let numbers = [worker.random.below(12), worker.random.below(12)]
    await timed(worker, .submit) {
      for ticket in numbers.compactMap({ self.tickets.pick($0) }) { self.inspect(await ticket.report) }
    }
  }
}
