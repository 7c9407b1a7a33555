import Eventing

// Calls the methods of an event that do not suspend.
extension Meddle.World {
  func meddle<Payload: Meddle.Freight>(_ slot: Meddle.Slot<Event<Payload>>, _ worker: Worker) {
    let event = slot.current
    switch worker.random.below(40) {
    case 0..<10: worker.action(.post) { event.post(worker.freight()) }
    case 10: worker.action(.post) { event.post(worker.freight(), from: owners.current) }
    case 11, 12: submit(to: event, worker)
    case 13..<18: worker.change(.add) { add(to: event, worker) }
    case 18: worker.change(.add) { addToView(of: event, worker) }
    case 19: worker.change(.add) { intercept(event, worker) }
    case 20..<24: remove(from: event, worker)
    case 24..<28: lock(event, worker)
    case 28, 29: worker.action(.look) { look(at: event, worker) }
    case 30, 31: worker.change(.add) { forward(from: event, worker) }
    case 32..<34: worker.change(.add) { listen(to: event, worker) }
    case 34, 35: worker.change(.add) { watch(event, worker) }
    case 36: worker.change(.add) { addToFailures(of: event, worker) }
    case 37: refuseStrangers(worker)
    case 38: worker.action(.look) { inspectLatest(of: event) }
    default: worker.action(.post) { for _ in 0..<8 { event.post(worker.freight()) } }
    }
  }

  private func submit<Payload: Meddle.Freight>(to event: Event<Payload>, _ worker: Worker) {
    worker.begin(.submit)
    var span = Span.open
    tickets.put(event.submit(worker.freight(), from: worker.random.oneIn(2) ? owners.current : nil))
    span.finish()
    worker.activityLog.end()
    worker.actions.append(span)
  }

  private func inspectLatest<Payload: Meddle.Freight>(of event: Event<Payload>) {
    if let latest = event.latest { inspect(latest, "as the latest") }
  }

  // MARK: Removing and locking

  private func remove<Payload>(from event: Event<Payload>, _ worker: Worker) {
    let (number, name) = (worker.random.below(48), name(worker))
    worker.change(.remove) {
      switch worker.random.below(16) {
      case 0: event.removeAll(where: .named(name))
      case 1: event.removeAll(where: .named(name, "audit"))
      case 2: event.removeAll(where: .tagged("io"))
      case 3: event.removeAll(where: .ownedBy(owners.current))
      case 4: if worker.random.oneIn(4) { event.removeAll() }
      case 5: if worker.random.oneIn(4) { event.finish() }
      case 6: event.removeAll(where: .oneOf([tokens.pick(number), tokens.pick(number + 1)].compactMap(\.self)))
      default:
        guard let token = tokens.pick(number) else { return }
        event.remove(token)
        checks.expect(.g7, !event.contains(token) && !event.isLocked(token), "a removed handler is still there")
      }
    }
  }

  private func lock<Payload>(_ event: Event<Payload>, _ worker: Worker) {
    let (holding, name) = (holding(worker), name(worker))
    let some = [worker.random.below(48), worker.random.below(48)].compactMap { tokens.pick($0) }
    worker.change(.lock) {
      switch worker.random.below(18) {
      case 0: event.lock(holding: holding)
      case 1, 2: event.unlock()
      case 3: event.lockAll(where: .named(name), holding: holding)
      case 4: event.unlockAll(where: .named(name))
      case 5: event.lockAll(where: .named(name, "io"), holding: holding)
      case 6: event.unlockAll(where: .named(name, "io"))
      case 7: event.lockAll(where: .tagged("io"), holding: holding)
      case 8: event.unlockAll(where: .tagged("io"))
      case 9: event.lockAll(where: .ownedBy(owners.current), holding: holding)
      case 10: event.unlockAll(where: .ownedBy(owners.current))
      case 11: event.lockAll(holding: holding)
      case 12, 13: event.unlockAll()
      case 14: event.lockAll(where: .oneOf(some), holding: holding)
      case 15: event.unlockAll(where: .oneOf(some))
      case 16: for token in some { event.lock(token, holding: holding) }
      default: for token in some { event.unlock(token) }
      }
    }
  }

  private func look<Payload>(at event: Event<Payload>, _ worker: Worker) {
    let count = event.handlerCount
    checks.expect(.g21, count >= 0 && count < 10_000, "\(count) handlers on \(event)")
    _ = (event.handlerCount > 0, event.isLocked, event.contains(where: .named(name(worker))), event.description)
    if let token = tokens.pick(worker.random.below(48)) {
      _ = (event.contains(token), event.isLocked(token), token.name, token.description)
    }
  }

  /// Uses a token of another event with the event `stranger`, which must refuse it and change
  /// nothing.
  private func refuseStrangers(_ worker: Worker) {
    guard let token = tokens.pick(worker.random.below(48)) else { return }
    worker.change(.remove) {
      let isRefused = !stranger.remove(token) && !stranger.contains(token) && !stranger.isLocked(token)
      checks.expect(.g11, isRefused, "an event accepted the token of another event")
      let isLocked = stranger.lock(token, holding: holding(worker)) || stranger.unlock(token)
      let isKept = !isLocked && stranger.removeAll(where: .oneOf([token])) == 0
      checks.expect(.g11, isKept, "an event locked the handler of another event")
    }
  }

  // MARK: Forwards

  /// Adds a forward to another event, perhaps in a cycle, or removes forwards. Only a few forwards
  /// exist at a time: a new one ends the oldest (``Meddle/World/forwards``), because each one may
  /// double the number of paths.
  private func forward<Payload: Meddle.Freight>(from event: Event<Payload>, _ worker: Worker) {
    let token: HandlerToken
    switch worker.random.below(7) {
    case 0: token = event.compactMap { $0.number % 5 == 0 ? nil : .make($0.number) }.forward(to: pairs.current)
    case 1: token = event.compactMap { .make($0.number) }.forward(to: triples.current)
    case 2: token = event.compactMap { .make($0.number) }.forward(to: choices.current)
    case 3: token = event.compactMap { $0.isWhole ? .make($0.number) : nil }.forward(to: texts.current)
    case 4:
      event.removeAll(where: .forwarding(to: pairs.current))
      event.removeAll(where: .forwarding(to: triples.current))
      return
    case 5:
      // The target forwards to no event, so that no cycle of strong references arises.
      let (target, callee) = (Event<Payload>("kept"), Meddle.Callee(self, worker, limit: 1))
      target.addHandler(on: .background) { try callee.call($0) }
      token = event.forward(to: target, strongly: true)
    default:
      let target = Event<Payload>("dropped")
      let callee = Meddle.Callee(self, worker, limit: 1)
      target.addHandler { try await callee.callInTask($0) }
      token = event.forward(to: target)
      event.post(worker.freight())
    }
    let bag = HandlerBag()
    token.store(in: bag)
    forwards.put(bag)
  }

  // MARK: Failures

  private func addToFailures<Payload>(of event: Event<Payload>, _ worker: Worker) {
    let callee = Meddle.Callee(self, worker, limit: 1)
    let checks = checks
    let isOnce = worker.random.oneIn(2)
    keep(
      event.failures.addHandler(isOnce ? .once : .options(), on: worker.random.oneIn(2) ? .background : .inline) {
        failure in
        let isOurs = failure.error is Faults.Problem && !failure.description.isEmpty
        checks.expect(.g19, isOurs, "a handler failed that threw nothing: \(failure)")
        try callee.callEmpty()
      })
  }
}
