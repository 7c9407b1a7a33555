import Eventing

/// Events forward to each other in rings, a diamond and a chain, and the forwards come and go while everybody sends (G23).
///
/// What passes says by which edges it came. So every arrival is judged: that it had to be, or could be, there by that path, and once (G23), in its sender's
/// order (G2), before a `send` returned that led to it (G16). In the end all edges stay, and the counts are those of the paths.
struct Forwarding: Scenario {
  static let name = "forward"
  static let summary =
    "events forward to each other in rings and diamonds, and the forwards come and go: every path is taken once"

  /// What one worker does: its edges, where it sent to, and the events that it has one event forward to for a time.
  // Safe: touched by that worker, and when nobody races.
  final class Desk: @unchecked Sendable {
    let edges: [Int]
    var lives: [Int: [Network.Life]] = [:]
    var tokens: [Int: HandlerToken] = [:]
    var origins: [Int] = []
    var sends: Set<Int> = []
    var guests: [Guest] = []
    /// Guests that are held weakly by the forward, and that nobody holds any more.
    var gone: [WeakLook] = []

    init(_ edges: [Int]) { self.edges = edges }
  }

  /// An event of another payload, which one of the network forwards to; alive for as long as it does, if strongly.
  // Safe: `heard` is touched by an inline handler only, and when nothing moves.
  final class Guest: @unchecked Sendable {
    weak let event: Event<StressPayload>?
    let senderLog: Int32
    /// What its worker sends from this number on has to arrive.
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
    context.director.begin(.verifier)
    let lives = Network.edges.indices.map { edge in desks.flatMap { $0.lives[edge, default: []] } }
    var verifier = NetworkVerifier(
      network, context, lives: lives, origins: desks.map(\.origins), sends: desks.map(\.sends), settled: Clock.now)
    verifier.run()
    verifier.judgeCounts(from: first)
    for (number, node) in network.nodes.enumerated() {
      let due = 3 + Network.edges.count { $0.source == number }
      let removed = node.event.removeAll()  // rings whose forwards are strong would keep themselves alive
      context.checks.expect(.g22, removed == due, "event \(number) had \(removed) handlers, not \(due)")
    }
    context.countOverlaps()
  }

  // MARK: What workers do

  /// One change, or none: then the worker is to send.
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

  /// One edge by its token, or all between the same two.
  private func disconnect(_ number: Int, _ network: Network, _ desk: Desk, _ worker: Worker) {
    let edge = Network.edges[number]
    guard let token = desk.tokens[number] else { return }
    let (source, target) = (network.nodes[edge.source].event, network.nodes[edge.target].event)
    var numbers = [number]
    let span: Span
    let count: Int
    if worker.random.oneIn(2) {
      numbers = Network.beside(number).filter { desk.tokens[$0] != nil }
      (count, span) = worker.change(.remove) { source.removeForwarding(to: target) }
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

  /// Sends and waits, in one of two ways.
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
    // What was handed over arrives at the next event meanwhile, and at the one after that.
    for _ in 0..<Network.size + 1 { for node in network.nodes { await node.event.quiesce() } }
  }

  // MARK: Targets that come and go

  private func invite(_ network: Network, _ desk: Desk, _ worker: Worker) {
    let (host, event) = (network.nodes[Network.guestHouse].event, Event<StressPayload>("guest"))
    let isStrong = worker.random.oneIn(2)
    let guest = Guest(event, worker.senderLog)
    worker.change(.add) { host.forward(to: event, strongly: isStrong) { $0.payload } }
    post(worker, network, desk, to: Network.guestHouse)
    if isStrong { return desk.guests.append(guest) }
    worker.lost()  // when this returns
    desk.gone.append(WeakLook(object: event))
  }

  /// Those that were held weakly are gone, and their forwards with them; the others heard all, and go when the forward does.
  private func judgeGuests(_ desks: [Desk], _ network: Network, _ context: ScenarioContext) async {
    let (host, checks) = (network.nodes[Network.guestHouse].event, context.checks)
    let areGone = await eventually { desks.allSatisfy { $0.gone.allSatisfy { $0.object == nil } } }
    checks.expect(.g23, areGone, "a forward keeps a target alive that it holds weakly")
    await send(context.workers[0], network, desks[0], to: Network.guestHouse)  // what meets a target that is gone ends the forward
    let edges = desks.reduce(0) { $0 + $1.tokens.keys.count { Network.edges[$0].source == Network.guestHouse } }
    let due = 3 + edges + desks.reduce(0) { $0 + $1.guests.count }
    checks.expect(
      .g22, host.handlerCount == due,
      "\(host.handlerCount) handlers are left of \(due): forwards to what is gone are among them")
    for (worker, desk) in zip(context.workers, desks) {
      checks.expect(
        .g7, worker.senderLog.missing == 0,
        "\(worker.senderLog.missing) times not the right number of forwards was found to be removed")
      for guest in desk.guests {
        let due = (guest.first..<desk.origins.count).filter { desk.origins[$0] == Network.guestHouse }
        let missed = due.filter { !guest.heard.contains($0) }
        checks.expect(.g23, missed.isEmpty, "a target that is held strongly missed \(missed.count) of \(due.count)")
        let removed = guest.event.map { host.removeForwarding(to: $0) }
        checks.expect(.g23, removed == 1, "removeForwarding found \(removed.map { "\($0)" } ?? "no target")")
      }
    }
    let haveLeft = await eventually { desks.allSatisfy { $0.guests.allSatisfy { $0.event == nil } } }
    checks.expect(.g23, haveLeft, "a target is alive whose forward has ended")
    for desk in desks { desk.guests = [] }
  }
}
