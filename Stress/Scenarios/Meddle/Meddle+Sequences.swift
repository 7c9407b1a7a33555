import Eventing

// Steps of a worker. They start loops (`for await`) over events, and observe events, also those
// that are made later. They change which task-local values all events of the process carry.
extension Meddle.World {
  /// Starts a loop over an event. The loop ends after some payloads, with its event, or when newer
  /// loops take its place in the list.
  func listen<Payload: Meddle.Freight>(to event: Event<Payload>, _ worker: Worker) {
    let (buffering, most) = (buffering(worker), 1 + worker.random.below(40))
    switch worker.random.below(8) {
    case 0..<3:
      let payloads = event.payloads(buffering: buffering)
      keep(Task { await iterate(payloads, most) })
    case 3, 4:
      let arrivals = event.arrivals(buffering: buffering)
      keep(
        Task {
          var left = most
          for await arrival in arrivals where left > 0 {
            switch arrival {
            case .payload(let freight): take(freight)
            case .dropped(let count): checks.expect(.g15, count > 0, "a loop was told of \(count) dropped payloads")
            }
            left -= 1
            if left == 0 { break }
          }
        })
    case 5:
      let occurrences = event.occurrences.payloads(buffering: buffering)
      keep(
        Task {
          var next: UInt64 = 0
          for await occurrence in occurrences.prefix(most) {
            checks.expect(.g1, occurrence.sequence >= next, "expected \(next) or later, got \(occurrence.sequence)")
            next = occurrence.sequence + 1
            take(occurrence.payload)
          }
        })
    case 6:
      // Two loops over one sequence, each of which receives every payload.
      let payloads = event.payloads(buffering: buffering)
      keep(Task { await iterate(payloads, most) })
      keep(Task { await iterate(payloads, 1) })
    default: _ = event.payloads(buffering: buffering)
    }
  }

  private func keep(_ loop: Task<Void, Never>) {
    guard let oldest = loops.put(loop) else { return }
    checks.faults.count(.cancel)
    oldest.cancel()
  }

  private func iterate<Payload: Meddle.Freight>(
    _ payloads: some AsyncSequence<Payload, Never> & Sendable, _ most: Int
  ) async {
    for await freight in payloads.prefix(most) {
      take(freight)
      if freight.depth > 0 { inspect(await triples.current.send(freight.next())) }
    }
  }

  private func take(_ freight: some Meddle.Freight) {
    received.add()
    inspect(freight, "in a loop")
  }

  // MARK: Observers

  /// An observer that checks that it was not released, and that it receives valid numbers, names,
  /// durations and errors.
  struct Watch: EventObserver {
    let checks: Checks
    let canary = Canary(.handler)

    func observe(_ step: EventStep) {
      checks.expect(.g21, canary.isAlive, "a released observer was called")
      if let handler = step.handler {
        checks.expect(.g21, handler.name?.isEmpty != true, "an observer was told of a handler with an empty name")
      }
      switch step.kind {
      case .accepted:
        let isSound = step.sequence.map { $0 > 0 } == true && step.event.name?.isEmpty != true
        checks.expect(.g21, isSound, "an observer was told of occurrence \(step.sequence ?? 0)")
      case .ended:
        let isOurs = step.error == nil || step.error is Faults.Problem
        let isSound = isOurs && step.duration.map { $0 >= .zero } == true
        checks.expect(.g19, isSound, "an observer was told of \(step.duration ?? .zero)")
      default: break
      }
    }
  }

  /// Takes a random step: begins an observation of the event, begins and ends observations at once,
  /// or adds a once handler for unhandled occurrences.
  func watch<Payload: Meddle.Freight>(_ event: Event<Payload>, _ worker: Worker) {
    let observation: EventRegistration
    switch worker.random.below(5) {
    case 0: observation = event.observe(with: Watch(checks: checks))
    case 1: observation = event.observe(with: diagnostics.current)
    case 2:
      for _ in 0..<4 { event.observe(with: diagnostics.current).end() }
      return
    case 3:
      let callee = Meddle.Callee(self, worker, isOnce: true, limit: 1)
      keep(event.unhandled.once { try callee.call($0) })
      return
    default:
      event.observe(with: Watch(checks: checks)).end()
      return
    }
    if let oldest = observations.put(observation) { oldest.end() }
    event.post(worker.freight())
  }

  /// Takes a random step: begins an observation of events that are made later, ends an observation,
  /// or replaces the shared diagnostics.
  func meddleWithNewEvents(_ worker: Worker) {
    worker.change(.add) {
      switch worker.random.below(6) {
      case 0: if let oldest = observations.put(diagnostics.current.observeNewEvents()) { oldest.end() }
      case 1: if let oldest = observations.put(Watch(checks: checks).observeNewEvents()) { oldest.end() }
      case 2: observations.take(worker.random.below(3))?.end()
      case 3: diagnostics.replace()
      case 4: for _ in 0..<8 { Watch(checks: checks).observeNewEvents().end() }
      default:
        let observation = diagnostics.current.observeNewEvents()
        let (event, callee) = (Event<Meddle.Pair>("observed"), Meddle.Callee(self, worker))
        for _ in 0..<3 { event.addHandler(.named(name(worker))) { try callee.call($0) } }
        event.post(worker.freight())
        observation.end()
      }
    }
  }

  // MARK: Context

  /// Takes a random step: begins to carry the task-local value `badge` in all events, ends an
  /// earlier carrying, begins and ends a carrying 16 times, or carries `badge` during one post.
  func meddleWithContext(_ worker: Worker) {
    worker.change(.add) {
      switch worker.random.below(4) {
      case 0: if let oldest = carried.put(EventContext.propagate(Meddle.$badge)) { oldest.end() }
      case 1: carried.take(worker.random.below(2))?.end()
      case 2: for _ in 0..<16 { EventContext.propagate(Meddle.$badge).end() }
      default:
        let carrying = EventContext.propagate(Meddle.$badge)
        let badge = Meddle.Badge(worker.random.below(1_000))
        Meddle.$badge.withValue(badge) { pairs.current.post(worker.freight()) }
        carrying.end()
      }
    }
  }
}
