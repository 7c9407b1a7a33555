import Eventing
import EventingDiagnostics

// Calls the methods of all types except plain events, as far as they do not suspend.
extension Meddle.World {
  // MARK: Keyed events

  func meddleWithKeys(_ worker: Worker) {
    let event = keyed.current
    let (key, other) = (key(worker.random.below(12)), key(worker.random.below(12)))
    switch worker.random.below(16) {
    case 0..<4: worker.action(.post) { event.post(worker.freight(), to: key, from: owners.current) }
    case 4: worker.action(.post) { event.post(worker.freight(), to: [key, other, key]) }
    case 5: worker.action(.post) { event.untargeted.post(worker.freight()) }
    case 6: worker.action(.submit) { tickets.put(event.submit(worker.freight(), to: key)) }
    case 7..<10: worker.change(.add) { add(to: event[key], worker) }
    case 10:
      let callee = Meddle.Callee(self, worker, limit: 1)
      worker.change(.add) {
        keep(
          event.intercept(.priority(1), owner: owners.current) { _, _, freight in
            try callee.call(freight)
            return freight.number % 8 < 2 ? .stop : .proceed(with: .make(freight.number))
          })
        add(to: event.untargeted, worker)
      }
    case 11: worker.change(.add) { add(to: event.anyKey.map(\.payload), worker) }
    case 12:
      let callee = Meddle.Callee(self, worker, limit: 1)
      worker.change(.add) {
        keep(event.anyKey.occurrences.addHandler(on: .background) { try callee.call($0.payload.payload) })
      }
    case 13: worker.change(.lock) { lock(event, worker) }
    default: worker.change(.remove) { remove(from: event, worker) }
    }
  }

  func meddleWithObjects(_ worker: Worker) {
    let (event, owner) = (objects.current, owners.current)
    switch worker.random.below(12) {
    case 0..<3: worker.action(.post) { event.post(worker.freight(), to: owner) }
    case 3: worker.action(.post) { event.post(worker.freight(), to: [owner, owners.current].map(ObjectKey.init)) }
    case 4: worker.action(.submit) { tickets.put(event.submit(worker.freight(), to: owner)) }
    case 5..<8: worker.change(.add) { add(to: event[owner], worker) }
    case 8:
      let (mortal, callee) = (Meddle.Owner(), Meddle.Callee(self, worker, limit: 1))
      worker.change(.add) {
        event[mortal].addHandler { try callee.call($0) }
        event[ObjectKey(mortal)].addHandler(on: .background) { try callee.call($0) }
        event.post(worker.freight(), to: mortal)
      }
    case 9: worker.change(.lock) { lock(event, worker) }
    case 10:
      worker.change(.add) {
        if let oldest = observations.put(event.observe(with: Watch(checks: checks))) { oldest.end() }
      }
    default: worker.change(.remove) { remove(from: event, worker) }
    }
  }

  private func remove<Key, Payload>(from event: KeyedEvent<Key, Payload>, _ worker: Worker) {
    switch worker.random.below(8) {
    case 0: event.removeAll(where: .named(name(worker)))
    case 1: event.removeAll(where: .tagged("io"))
    case 2: event.removeAll(where: .ownedBy(owners.current))
    case 3: if worker.random.oneIn(4) { event.removeAll() }
    case 4: if worker.random.oneIn(8) { event.finish() }
    default:
      guard let token = tokens.pick(worker.random.below(48)) else { return }
      event.remove(token)
      checks.expect(.g7, !event.contains(token) && !event.isLocked(token), "a removed handler is still there")
      _ = (event.handlerCount, event.contains(where: .named(name(worker))), event.description)
    }
  }

  private func lock<Key, Payload>(_ event: KeyedEvent<Key, Payload>, _ worker: Worker) {
    let (holding, token) = (holding(worker), tokens.pick(worker.random.below(48)))
    switch worker.random.below(12) {
    case 0: event.lock(holding: holding)
    case 1, 2: event.unlock()
    case 3: event.lockAll(where: .named(name(worker)), holding: holding)
    case 4: event.unlockAll(where: .named(name(worker)))
    case 5: event.lockAll(where: .tagged("io"), holding: holding)
    case 6: event.unlockAll(where: .tagged("io"))
    case 7: event.lockAll(where: .ownedBy(owners.current), holding: holding)
    case 8: event.lockAll(holding: holding)
    case 9: event.unlockAll()
    case 10: if let token { event.lock(token, holding: holding) }
    default: if let token { event.unlock(token) }
    }
  }

  // MARK: Observed values

  func meddle<Value: Meddle.Freight>(_ slot: Meddle.Slot<Observed<Value>>, _ worker: Worker) {
    let observed = slot.current
    switch worker.random.below(16) {
    case 0..<4: worker.action(.post) { observed.value = worker.freight() }
    case 4..<6: worker.action(.look) { inspect(observed.value, "as a value") }
    case 6..<8:
      let new: Value = worker.freight()
      worker.action(.post) {
        observed.update { value in
          inspect(value, "in an update")
          value = new
        }
      }
    case 8: worker.change(.add) { add(to: observed, worker) }
    case 9: worker.change(.add) { add(to: observed.newValues, worker) }
    case 10..<13: worker.change(.add) { addChanges(to: observed, worker) }
    case 13:
      worker.change(.lock) {
        guard let token = tokens.pick(worker.random.below(48)) else { return }
        if observed.isLocked(token) {
          observed.unlock(token)
        } else {
          observed.lock(token, holding: holding(worker))
        }
      }
    case 14:
      worker.change(.remove) {
        if worker.random.oneIn(4) { observed.removeAll() } else { observed.removeAll(where: .ownedBy(owners.current)) }
      }
    default:
      worker.change(.remove) {
        guard let token = tokens.pick(worker.random.below(48)) else { return }
        observed.remove(token)
        checks.expect(.g7, !observed.contains(token) && observed.handlerCount >= 0, "a removed handler is still there")
      }
    }
  }

  private func addChanges<Value: Meddle.Freight>(to observed: Observed<Value>, _ worker: Worker) {
    let changes = observed.changes(initial: worker.random.oneIn(2), prior: worker.random.oneIn(2))
    let callee = Meddle.Callee(self, worker, limit: 1)
    let take: @Sendable (ValueChange<Value>) throws -> Void = { change in
      if let old = change.old { callee.world.inspect(old, "as the value before a change") }
      callee.world.inspect(change.new, "as the value after a change")
      try callee.callEmpty()
    }
    switch worker.random.below(5) {
    case 0: keep(changes.addHandler(.buffering(buffering(worker)), on: .background) { try take($0) })
    case 1: keep(changes.addHandler { change async throws in try take(change) })
    case 2: keep(changes.addHandler(on: .main) { try take($0) })
    default: keep(changes.addHandler { try take($0) })
    }
  }

  // MARK: Buses

  func meddleWithBus(_ worker: Worker) {
    let bus = worker.random.oneIn(4) ? EventBus.shared : buses.current
    switch worker.random.below(16) {
    case 0..<3: worker.action(.post) { bus.post(worker.freight(Meddle.Pair.self), from: owners.current) }
    case 3..<5: worker.action(.post) { for _ in 0..<16 { bus.post(worker.freight(Meddle.Triple.self)) } }
    case 5: worker.action(.post) { bus.post(worker.freight(Meddle.Text.self)) }
    case 6:
      worker.action(.submit) {
        tickets.put(bus.event(for: Meddle.Choice.self).submit(worker.freight(Meddle.Choice.self)))
      }
    case 7..<9: worker.change(.add) { add(to: bus.event(for: Meddle.Pair.self), worker) }
    case 9: worker.change(.add) { add(to: bus.event(for: Meddle.Triple.self), worker) }
    case 10: worker.change(.add) { addHandlers(for: bus, worker) }
    case 11, 12: worker.change(.remove) { for _ in 0..<8 { bus.finish() } }
    default: meddleWithOwned(worker)
    }
  }

  private func addHandlers(for bus: EventBus, _ worker: Worker) {
    let first = Meddle.Callee(self, worker, limit: 1)
    let second = Meddle.Callee(self, worker, isOnce: true, limit: 1)
    keep(bus.event(for: Meddle.Text.self).addHandler(.named(name(worker))) { try first.call($0) })
    keep(bus.event(for: Meddle.Choice.self).addHandler(.once) { try await second.callInTask($0) })
    _ = bus.description
  }

  /// Uses events that belong to an owner, which other workers may release.
  func meddleWithOwned(_ worker: Worker) {
    let bus = worker.random.oneIn(4) ? EventBus.shared : buses.current
    let owner = worker.random.oneIn(4) ? Meddle.Owner() : owners.current
    let key = EventKey<Meddle.Pair>(worker.random.oneIn(2) ? "word" : "a key that is too long to be inline")
    switch worker.random.below(10) {
    case 0..<3: worker.action(.post) { ask { try bus.event(key, of: owner).post(worker.freight()) } }
    case 3, 4: worker.change(.add) { ask { add(to: try bus.event(key, of: owner), worker) } }
    case 5:
      let contested = EventKey<Meddle.Triple>("word")
      worker.action(.post) { ask { try bus.event(contested, of: owner).post(worker.freight()) } }
    case 6:
      worker.action(.look) {
        for event in bus.events(of: owner) {
          checks.expect(.g21, event.handlerCount >= 0, "an event has less than 0 handlers")
        }
        checks.expect(.g21, bus.events(of: owner).allSatisfy { $0.name?.isEmpty == false }, "an event has no name")
      }
    case 7:
      worker.change(.lock) {
        for event in bus.events(of: owner) {
          event.lock(holding: holding(worker))
          event.unlock()
          if worker.random.oneIn(4) { event.finish() } else { event.removeAll() }
        }
      }
    case 8: worker.change(.remove) { bus.removeEvent(key, of: owner) }
    default: worker.change(.remove) { bus.removeEvents(of: owner) }
    }
  }

  /// Asks a bus for an event. The bus must refuse a key only if its event has another payload type.
  private func ask(_ body: () throws -> Void) {
    do { try body() } catch {
      checks.expect(.g24, error as? EventingError == .payloadMismatch, "a bus refused for another reason: \(error)")
    }
  }
}
