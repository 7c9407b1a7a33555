import Eventing

extension Meddle.World {
  private static let names = ["io", "audit", "a name that is too long to be inline", nil]
  private static let bufferings: [Buffering] = [
    .unbounded, .unbounded, .oldest(3), .newest(3), .latest, .suspendingSender(3),
  ]

  func name(_ worker: Worker) -> String { worker.random.pick(["io", "audit", "a name that is too long to be inline"]) }
  func buffering(_ worker: Worker) -> Buffering { worker.random.pick(Meddle.World.bufferings) }
  func holding(_ worker: Worker) -> Buffering? {
    worker.random.pick([nil, .latest, .oldest(3), .newest(2), .unbounded])
  }

  /// Adds a handler of any kind to any source, and shares its token.
  func add<Source: EventSource>(to source: Source, _ worker: Worker) where Source.Payload: Meddle.Freight {
    switch worker.random.below(24) {
    case 0..<3: keep(addInline(to: source, worker))
    case 3..<8: keep(addElsewhere(to: source, worker))
    case 8..<14: keep(addAsynchronous(to: source, worker))
    case 14..<18: keep(addOwned(to: source, worker))
    case 18..<20: keep(addOnce(to: source, worker))
    case 20: addValues(to: source, worker)
    default: keep(addIsolated(to: source, worker))
    }
  }

  /// Adds an interceptor that stops some occurrences, and passes another payload on for others.
  func intercept<Payload: Meddle.Freight>(_ event: Event<Payload>, _ worker: Worker) {
    let (callee, owner) = (Meddle.Callee(self, worker, limit: 1), owners.current)
    let (divisor, name) = (worker.random.below(4) + 2, name(worker))
    let decide = { @Sendable (freight: Payload) throws -> Interception<Payload> in
      try callee.call(freight)
      return switch freight.number % 16 / divisor {
      case 0: .stop
      case 1: .proceed(with: .make(freight.number))
      default: .proceed
      }
    }
    switch worker.random.below(3) {
    case 0: keep(event.intercept(.named(name), .priority(1), perform: decide))
    case 1: keep(event.intercept(.once, .priority(2), perform: decide))
    default: keep(event.intercept(.priority(3), owner: owner) { _, freight in try decide(freight) })
    }
  }

  private func addInline<Source: EventSource>(to source: Source, _ worker: Worker) -> HandlerToken
  where Source.Payload: Meddle.Freight {
    if worker.random.oneIn(2) {
      let callee = Meddle.Callee(self, worker, limit: 1)
      return source.addHandler { try callee.call($0) }
    }
    let isOnce = worker.random.oneIn(4)
    let callee = Meddle.Callee(self, worker, isOnce: isOnce, limit: 1)
    let (name, priority) = (worker.random.pick(Meddle.World.names), worker.random.below(3) - 1)
    return source.addHandler(name.map { .named($0) } ?? .options(), .priority(priority), isOnce ? .once : .options()) {
      try callee.call($0)
    }
  }

  private func addElsewhere<Source: EventSource>(to source: Source, _ worker: Worker) -> HandlerToken
  where Source.Payload: Meddle.Freight {
    let (name, buffering) = (worker.random.pick(Meddle.World.names), buffering(worker))
    let isOnce = worker.random.oneIn(6)
    let callee = Meddle.Callee(self, worker, isOnce: isOnce, limit: 1)
    switch worker.random.below(4) {
    case 0:
      return source.addHandler(
        name.map { .named($0) } ?? .options(), .buffering(buffering), isOnce ? .once : .options(), on: .background
      ) { try callee.call($0) }
    case 1, 2:
      let queue = worker.random.oneIn(2) ? serial : crowd
      return source.addHandler(
        name.map { .named($0) } ?? .options(), .buffering(buffering), isOnce ? .once : .options(), on: .queue(queue)
      ) {
        try callee.call($0)
      }
    default:
      return source.addHandler(
        name.map { .named($0) } ?? .options(), .buffering(buffering), isOnce ? .once : .options(), on: .main
      ) { freight in
        callee.expectMain("in a call")
        try callee.call(freight)
      }
    }
  }

  private func addAsynchronous<Source: EventSource>(to source: Source, _ worker: Worker) -> HandlerToken
  where Source.Payload: Meddle.Freight {
    let (name, buffering) = (worker.random.pick(Meddle.World.names), buffering(worker))
    let (isOnce, kind) = (worker.random.oneIn(6), worker.random.below(6))
    let callee = Meddle.Callee(self, worker, isOnce: isOnce, limit: kind == 0 ? nil : kind == 1 ? 3 : 1)
    switch kind {
    case 0:
      return source.addHandler(name.map { .named($0) } ?? .options(), isOnce ? .once : .options(), on: .task) {
        try await callee.callInTask($0)
      }
    case 1:
      return source.addHandler(
        name.map { .named($0) } ?? .options(), .buffering(buffering), isOnce ? .once : .options(),
        on: .concurrent(limit: 3)
      ) {
        try await callee.callInTask($0)
      }
    case 2:
      return source.addHandler(
        name.map { .named($0) } ?? .options(), .buffering(buffering), isOnce ? .once : .options(),
        on: .inOrder(priority: .utility)
      ) {
        try await callee.callInTask($0)
      }
    case 3:
      return source.addHandler(
        name.map { .named($0) } ?? .options(), .buffering(buffering), isOnce ? .once : .options(), on: .main
      ) { freight in
        callee.expectMain("where a call begins")
        try await callee.callInTask(freight)
        callee.expectMain("where a call ends")
      }
    default:
      return source.addHandler(
        name.map { .named($0) } ?? .options(), .buffering(buffering), isOnce ? .once : .options(), on: .inOrder
      ) {
        try await callee.callInTask($0)
      }
    }
  }

  private func addOwned<Source: EventSource>(to source: Source, _ worker: Worker) -> HandlerToken
  where Source.Payload: Meddle.Freight {
    let (owner, name) = (owners.current, worker.random.pick(Meddle.World.names))
    let callee = Meddle.Callee(self, worker, limit: 1)
    switch worker.random.below(6) {
    case 0, 1: return source.addHandler(name.map { .named($0) } ?? .options(), owner: owner) { try callee.call($1, $0) }
    case 2:
      return source.addHandler(name.map { .named($0) } ?? .options(), on: .background, owner: owner) {
        try callee.call($1, $0)
      }
    case 3:
      return source.addHandler(name.map { .named($0) } ?? .options(), owner: owner) {
        try await callee.callInTask($1, $0)
      }
    case 4:
      return source.addHandler(name.map { .named($0) } ?? .options(), on: .main, owner: owner) {
        try callee.call($1, $0)
      }
    default:
      return source.addHandler(name.map { .named($0) } ?? .options(), on: .main, owner: owner) {
        try await callee.callInTask($1, $0)
      }
    }
  }

  private func addIsolated<Source: EventSource>(to source: Source, _ worker: Worker) -> HandlerToken
  where Source.Payload: Meddle.Freight {
    let isOnce = worker.random.oneIn(4)
    let callee = Meddle.Callee(self, worker, isOnce: isOnce, limit: 1)
    return source.addHandler(isOnce ? .once : .options(), isolatedTo: accounts.current) { account, freight in
      callee.world.checks.expect(.g10, account.enter(), "a handler ran on a released actor")
      try await callee.callInTask(freight)
    }
  }

  private func addOnce<Source: EventSource>(to source: Source, _ worker: Worker) -> HandlerToken
  where Source.Payload: Meddle.Freight {
    let callee = Meddle.Callee(self, worker, isOnce: true, limit: 1)
    switch worker.random.below(5) {
    case 0: return source.once { try callee.call($0) }
    case 1: return source.once(on: .background) { try callee.call($0) }
    case 2: return source.once(.named(name(worker))) { try await callee.callInTask($0) }
    case 3: return source.once(on: .main) { try callee.call($0) }
    default: return source.once(on: .main) { try await callee.callInTask($0) }
    }
  }

  /// Adds two handlers as values, in a group.
  private func addValues<Source: EventSource>(to source: Source, _ worker: Worker)
  where Source.Payload: Meddle.Freight {
    let (first, second) = (Meddle.Callee(self, worker), Meddle.Callee(self, worker, isOnce: true, limit: 1))
    let value = Handler<Source.Payload>(
      .named(name(worker)), .tagged("io", "a tag that is too long to be inline"), .priority(-1), on: .background,
      owner: owners.current
    ) { _, freight in try first.call(freight) }
    let once = Handler<Source.Payload>(.once, .tagged("io")) { try await second.callInTask($0) }
    let group = worker.random.oneIn(2) ? source.add(value, once) : source.add(contentsOf: [once, value])
    checks.expect(.g24, group.count == 2, "\(group.count) tokens of a group of two")
    for token in group { keep(token) }
  }

  // MARK: Views

  /// Adds a handler to a view of an event.
  func addToView<Payload: Meddle.Freight>(of event: Event<Payload>, _ worker: Worker) {
    let callee = Meddle.Callee(self, worker, limit: 1)
    let occurrences: any EventSource<EventOccurrence<Payload>> = event.occurrences
    switch worker.random.below(9) {
    case 0: add(to: event.map { freight -> Meddle.Pair in .make(freight.number) }, worker)
    case 1: add(to: event.filter { $0.isWhole && $0.number % 2 == 0 }, worker)
    case 2:
      let crates = event.compactMap { $0.number % 3 == 0 ? nil : Meddle.Crate.make($0.number) }
      add(to: crates, worker)
    case 3: add(to: event.source, worker)
    case 4: keep(event.signal.addHandler { try callee.callEmpty() })
    case 5: keep(event.signal.addHandler(owner: owners.current) { _ async throws in try callee.callEmpty() })
    case 6: keep(event.occurrences.addHandler { try callee.call($0) })
    case 7: keep(event.occurrences.addHandler(.buffering(buffering(worker)), on: .background) { try callee.call($0) })
    default: keep(add(callee, to: occurrences))
    }
  }

  private func add<Payload: Meddle.Freight>(
    _ callee: Meddle.Callee, to occurrences: some EventSource<EventOccurrence<Payload>>
  ) -> HandlerToken {
    occurrences.addHandler(on: .inOrder) { occurrence async throws in try callee.call(occurrence) }
  }
}
