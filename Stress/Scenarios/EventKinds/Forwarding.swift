import Eventing

/// Sends to events that forward to each other in rings, a diamond and a chain. Meanwhile workers
/// add and remove the forwards (G23).
///
/// A payload records the edges that it passed, so every arrival can be verified. An arrival by a
/// possible path must happen exactly once (G23), in the order of its sender (G2), and before the
/// `send` that caused it returns (G16). At the end all edges exist, and the number of arrivals must
/// equal the number of paths.
struct Forwarding: Scenario {
  static let name = "forward"
  static let summary =
    "events forward to each other in rings and diamonds, by temporary forwards: every path is taken once"

  /// The state of one worker: the edges that it adds and removes, with the times during which each
  /// existed (`lives`) and the tokens of their forwards; the node to which it sent each of its
  /// payloads (`origins`); the payloads whose reports it awaited (`sends`); and the temporary
  /// targets that it made for strong forwards (`guests`).
  // Safe: accessed by that worker during a race, and by the scenario between races.
  final class Desk: @unchecked Sendable {
    let edges: [Int]
    var lives: [Int: [Network.Life]] = [:]
    var tokens: [Int: HandlerToken] = [:]
    var origins: [Int] = []
    var sends: Set<Int> = []
    var guests: [Guest] = []
    /// Temporary targets to which nothing but a weak forward refers, so that they must be
    /// deallocated.
    var gone: [WeakLook] = []

    init(_ edges: [Int]) { self.edges = edges }
  }

  /// A temporary target: a weak reference to an event of another payload type than the network's,
  /// and the payloads of one worker that the event received. Only a strong forward to the event
  /// keeps the event alive.
  // Safe: one inline handler accesses `heard`. The scenario reads when no handler runs.
  final class Guest: @unchecked Sendable {
    weak let event: Event<StressPayload>?
    let senderLog: Int32
    /// The number of the first payload that this temporary target must receive, among the payloads
    /// of the worker that made the target.
    let first: Int
    private(set) var heard: [Int] = []

    init(_ event: Event<StressPayload>, _ senderLog: SenderLog) {
      self.event = event
      self.senderLog = Int32(senderLog.number)
      first = senderLog.sent.count
      let canary = Canary(.handler)
      event.addHandler { [weak self] payload in
        if canary.isAlive, payload.senderLog == self?.senderLog { self?.heard.append(Int(payload.index)) }
      }
    }
  }

  func round(_ context: ScenarioContext) async {
    let network = Network(context)
    let desks = context.workers.map { worker in
      Desk(Network.edges.indices.filter { Network.beside($0)[0] % context.workers.count == worker.index })
    }
    var random = context.random()
    for desk in desks { for edge in desk.edges where random.oneIn(2) { connect(edge, network, desk, random.oneIn(2)) } }
    await context.race(steps: 60) { worker in
      let desk = desks[worker.index]
      if step(worker, network, desk) { post(worker, network, desk) }
    } inTask: { worker in
      let desk = desks[worker.index]
      guard step(worker, network, desk) else { return }
      if worker.random.oneIn(3) { await send(worker, network, desk) } else { post(worker, network, desk) }
    }
    context.director.begin(.quiesce)
    await quiesce(network)
    await judgeGuests(desks, network, context)

    for desk in desks {
      for edge in desk.edges where desk.tokens[edge] == nil { connect(edge, network, desk, random.oneIn(2)) }
    }
    let first = desks.map(\.origins.count)
    await context.race(steps: 12) { worker in post(worker, network, desks[worker.index]) }
    await quiesce(network)
    context.director.begin(.verify)
    let lives = Network.edges.indices.map { edge in desks.flatMap { $0.lives[edge, default: []] } }
    var verifier = NetworkVerifier(
      network, context, lives: lives, origins: desks.map(\.origins), sends: desks.map(\.sends), settled: Clock.now)
    verifier.run()
    verifier.judgeCounts(from: first)
    for (number, node) in network.nodes.enumerated() {
      let due = 3 + Network.edges.count { $0.source == number }
      let removed = node.event.removeAll()  // breaks the retain cycles of strong forwards in rings
      context.checks.expect(.g22, removed == due, "event \(number) had \(removed) handlers, not \(due)")
    }
    context.countOverlaps()
  }

  // MARK: Steps of a worker

  /// Chooses a send or a change, and makes the change.
  ///
  /// - Returns: Whether the choice is a send, which the caller has to make.
  private func step(_ worker: Worker, _ network: Network, _ desk: Desk) -> Bool {
    switch worker.random.below(10) {
    case 0..<4 where !desk.edges.isEmpty:
      let edge = worker.random.pick(desk.edges)
      if desk.tokens[edge] != nil {
        disconnect(edge, network, desk, worker)
      } else {
        let isStrong = worker.random.oneIn(2)
        worker.change(.add) { connect(edge, network, desk, isStrong) }
      }
    case 4: if desk.guests.count < 4 { invite(network, desk, worker) }
    default: return true
    }
    return false
  }

  private func connect(_ edge: Int, _ network: Network, _ desk: Desk, _ isStrong: Bool) {
    var adding = Span.open
    desk.tokens[edge] = network.connect(edge, strongly: isStrong)
    adding.finish()
    desk.lives[edge, default: []].append(Network.Life(adding: adding))
  }

  /// Removes one edge by its token, or all edges with its source and target.
  private func disconnect(_ number: Int, _ network: Network, _ desk: Desk, _ worker: Worker) {
    let edge = Network.edges[number]
    guard let token = desk.tokens[number] else { return }
    let (source, target) = (network.nodes[edge.source].event, network.nodes[edge.target].event)
    var numbers = [number]
    let span: Span
    let count: Int
    if worker.random.oneIn(2) {
      numbers = Network.beside(number).filter { desk.tokens[$0] != nil }
      (count, span) = worker.change(.remove) { source.removeAll(where: .forwarding(to: target)) }
    } else {
      (count, span) = worker.change(.remove) { source.remove(token) ? 1 : 0 }
    }
    if count != numbers.count { worker.senderLog.missing += 1 }
    for number in numbers {
      desk.tokens[number] = nil
      if let life = desk.lives[number]?.popLast() {
        desk.lives[number]?.append(Network.Life(adding: life.adding, removing: span))
      }
    }
  }

  private func departing(_ worker: Worker, _ desk: Desk, _ origin: Int? = nil) -> Traveller {
    let origin = origin ?? worker.random.below(Network.size)
    desk.origins.append(origin)
    return Traveller(payload: worker.senderLog.next(), origin: origin)
  }

  private func post(_ worker: Worker, _ network: Network, _ desk: Desk, to origin: Int? = nil) {
    worker.begin(.post)
    let traveller = departing(worker, desk, origin)
    network.nodes[traveller.origin].event.post(traveller)
    worker.posting.add(worker.senderLog.returned(traveller.payload))
    worker.activityLog.end()
  }

  /// Sends and awaits the report, in one of two ways.
  private func send(_ worker: Worker, _ network: Network, _ desk: Desk, to origin: Int? = nil) async {
    let isSubmitted = worker.random.oneIn(4)
    worker.begin(isSubmitted ? .submit : .send)
    let traveller = departing(worker, desk, origin)
    let event = network.nodes[traveller.origin].event
    let report = await worker.awaiting {
      if isSubmitted { await event.submit(traveller).report } else { await event.send(traveller) }
    }
    worker.sending.add(worker.senderLog.returned(traveller.payload))
    worker.senderLog.keep(report, of: traveller.payload)
    desk.sends.insert(Int(traveller.payload.index))
    worker.activityLog.end()
  }

  private func quiesce(_ network: Network) async {
    // Each pass takes every occurrence at least one event further. A path has at most as many
    // events as the network, so this number of passes suffices.
    for _ in 0..<Network.size + 1 { for node in network.nodes { await node.event.quiesce() } }
  }

  // MARK: Temporary targets

  private func invite(_ network: Network, _ desk: Desk, _ worker: Worker) {
    let (host, event) = (network.nodes[Network.guestHouse].event, Event<StressPayload>("guest"))
    let isStrong = worker.random.oneIn(2)
    let guest = Guest(event, worker.senderLog)
    worker.change(.add) { host.compactMap { $0.payload }.forward(to: event, strongly: isStrong) }
    post(worker, network, desk, to: Network.guestHouse)
    if isStrong { return desk.guests.append(guest) }
    worker.lost()  // the guest, which is released on return
    desk.gone.append(WeakLook(object: event))
  }

  /// Checks the *guests*: events that workers made as temporary targets of forwards. The target of
  /// a weak forward must be deallocated, and the forward must have ended. The target of a strong
  /// forward must have received everything, and be deallocated when the forward ends.
  private func judgeGuests(_ desks: [Desk], _ network: Network, _ context: ScenarioContext) async {
    let (host, checks) = (network.nodes[Network.guestHouse].event, context.checks)
    let areGone = await eventually { desks.allSatisfy { $0.gone.allSatisfy { $0.object == nil } } }
    checks.expect(.g23, areGone, "a weak forward keeps its target alive")
    // A weak forward ends when an occurrence reaches it after its target was deallocated.
    await send(context.workers[0], network, desks[0], to: Network.guestHouse)
    let edges = desks.reduce(0) { $0 + $1.tokens.keys.count { Network.edges[$0].source == Network.guestHouse } }
    let due = 3 + edges + desks.reduce(0) { $0 + $1.guests.count }
    checks.expect(
      .g22, host.handlerCount == due,
      "\(host.handlerCount) handlers are left, not \(due): some forward to released targets")
    for (worker, desk) in zip(context.workers, desks) {
      checks.expect(
        .g7, worker.senderLog.missing == 0,
        "\(worker.senderLog.missing) removals found the wrong number of forwards")
      for guest in desk.guests {
        let due = (guest.first..<desk.origins.count).filter { desk.origins[$0] == Network.guestHouse }
        let missed = due.filter { !guest.heard.contains($0) }
        checks.expect(.g23, missed.isEmpty, "the target of a strong forward missed \(missed.count) of \(due.count)")
        let removed = guest.event.map { host.removeAll(where: .forwarding(to: $0)) }
        checks.expect(.g23, removed == 1, "a filter of forwards found \(removed.map { "\($0)" } ?? "no target")")
      }
    }
    let haveLeft = await eventually { desks.allSatisfy { $0.guests.allSatisfy { $0.event == nil } } }
    checks.expect(.g23, haveLeft, "a target is alive after its forward has ended")
    for desk in desks { desk.guests = [] }
  }
}
