import EventingLocal
import Testing

/// The verbs of a random program. Handlers are named by numbers, in the order in which they were
/// added; owners, by numbers from 0 to 3.
private protocol World: AnyObject {
  func post(_ payload: Int)
  func add(_ kind: HandlerKind)
  func remove(_ handler: Int) -> Bool
  func removeAll(of owner: Int?) -> Int
  func lock(_ handler: Int) -> Bool
  func unlock(_ handler: Int) -> Bool
  func withLocked(_ handler: Int, _ body: () -> Void)
  func lockEvent(_ isLocked: Bool)
  func replaceOwner(_ owner: Int)
  var count: Int { get }
}

private struct HandlerKind {
  enum View { case none, even, doubled }
  var priority: Int
  var isOnce: Bool
  var owner: Int?
  var view: View
  var isInterceptor: Bool
}

private struct Generator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// A program. Its random choices depend on the seed and on the number of choices before, so the
/// event and the model make equal choices as long as they call equal handlers.
private final class Program {
  private var generator: Generator
  private(set) var log: [String] = []
  private var added = 0
  private var posts = 0
  private var world: (any World)!

  init(seed: UInt64) { generator = Generator(state: seed) }

  func run(_ world: any World) {
    self.world = world
    for _ in 0..<40 { act(depth: 0) }
    log.append("\(world.count) handlers")
  }

  func handle(_ handler: Int, _ payload: Int) {
    log.append("\(handler) got \(payload)")
    if Int.random(in: 0..<3, using: &generator) == 0 { act(depth: 1) }
  }

  func decide(_ handler: Int, _ payload: Int) -> LocalInterception<Int> {
    handle(handler, payload)
    return switch Int.random(in: 0..<4, using: &generator) {
    case 0: .stop
    case 1: .proceed(with: payload + 1_000)
    default: .proceed
    }
  }

  private func act(depth: Int) {
    let handler = Int.random(in: 0...max(0, added - 1), using: &generator)
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<7:
      guard posts < 150 else { return }
      posts += 1
      world.post(posts)
      log.append("posted")
    case 7..<12:
      guard added < 60 else { return }
      added += 1
      let owner = Int.random(in: 0..<8, using: &generator)
      world.add(
        HandlerKind(
          priority: Int.random(in: -1...1, using: &generator), isOnce: Int.random(in: 0..<4, using: &generator) == 0,
          owner: owner < 4 ? owner : nil, view: [.none, .none, .even, .doubled].randomElement(using: &generator)!,
          isInterceptor: Int.random(in: 0..<6, using: &generator) == 0))
    case 12, 13: log.append("removed \(handler): \(world.remove(handler))")
    case 14: log.append("locked \(handler): \(world.lock(handler))")
    case 15: log.append("unlocked \(handler): \(world.unlock(handler))")
    case 16 where depth < 4: world.withLocked(handler) { act(depth: depth + 1) }
    case 17: world.lockEvent(Int.random(in: 0..<3, using: &generator) == 0)
    case 18: world.replaceOwner(Int.random(in: 0..<4, using: &generator))
    case 19:
      let owner = Int.random(in: 0..<20, using: &generator)
      log.append("removed \(world.removeAll(of: owner == 0 ? nil : owner % 4)) handlers")
    default: break
    }
  }
}

private final class Owner {}

/// The local event under test.
private final class RealWorld: World {
  let event = LocalEvent<Int>()
  var tokens: [LocalHandlerToken] = []
  var owners = (0..<4).map { _ in Owner() }
  let program: Program

  init(_ program: Program) { self.program = program }

  func post(_ payload: Int) { event.post(payload) }
  func add(_ kind: HandlerKind) {
    let (program, number) = (program, tokens.count)
    let options: [LocalHandlerOption] = kind.isOnce ? [.once] : []
    func add(to source: some LocalEventSource<Int>) -> LocalHandlerToken {
      switch (kind.owner, options.first) {
      case (let owner?, let once?):
        source.addHandler(once, .priority(kind.priority), owner: owners[owner]) { program.handle(number, $1) }
      case (let owner?, nil):
        source.addHandler(.priority(kind.priority), owner: owners[owner]) { program.handle(number, $1) }
      case (nil, let once?): source.addHandler(.priority(kind.priority), once) { program.handle(number, $0) }
      case (nil, nil): source.addHandler(.priority(kind.priority)) { program.handle(number, $0) }
      }
    }
    func intercept() -> LocalHandlerToken {
      switch (kind.owner, options.first) {
      case (let owner?, let once?):
        event.intercept(once, .priority(kind.priority), owner: owners[owner]) { program.decide(number, $1) }
      case (let owner?, nil):
        event.intercept(.priority(kind.priority), owner: owners[owner]) { program.decide(number, $1) }
      case (nil, let once?): event.intercept(.priority(kind.priority), once) { program.decide(number, $0) }
      case (nil, nil): event.intercept(.priority(kind.priority)) { program.decide(number, $0) }
      }
    }
    let token =
      if kind.isInterceptor {
        intercept()
      } else {
        switch kind.view {
        case .none: add(to: event)
        case .even: add(to: event.filter { $0.isMultiple(of: 2) })
        case .doubled: add(to: event.map { $0 * 2 })
        }
      }
    tokens.append(token)
  }
  func remove(_ handler: Int) -> Bool { tokens.indices.contains(handler) && event.remove(tokens[handler]) }
  func removeAll(of owner: Int?) -> Int {
    event.removeAll(where: owner.map { .ownedBy(owners[$0]) } ?? .all)
  }
  func lock(_ handler: Int) -> Bool { tokens.indices.contains(handler) && event.lock(tokens[handler]) }
  func unlock(_ handler: Int) -> Bool { tokens.indices.contains(handler) && event.unlock(tokens[handler]) }
  func withLocked(_ handler: Int, _ body: () -> Void) {
    if tokens.indices.contains(handler) { event.withLocked(tokens[handler], body) } else { body() }
  }
  func lockEvent(_ isLocked: Bool) { if isLocked { event.lock() } else { event.unlock() } }
  func replaceOwner(_ owner: Int) { owners[owner] = Owner() }
  var count: Int { event.handlerCount }
}

/// A model of the guarantees, without any care for speed.
private final class Model: World {
  private struct Handler {
    var kind: HandlerKind
    var isAlive = true
    var isLocked = false
    var scopes = 0
  }
  private var handlers: [Handler] = []
  private var queue: [(payload: Int, limit: Int)] = []
  private var isDelivering = false
  private var isLocked = false
  private let program: Program

  init(_ program: Program) { self.program = program }

  func post(_ payload: Int) {
    queue.append((payload, handlers.count))
    guard !isDelivering else { return }
    isDelivering = true
    while !queue.isEmpty {
      var (payload, limit) = queue.removeFirst()
      let order = (0..<limit).sorted {
        (-handlers[$0].kind.priority, $0) < (-handlers[$1].kind.priority, $1)
      }
      var isStopped = false
      for number in order where !isStopped && isCallable(number) {
        let kind = handlers[number].kind
        if !kind.isInterceptor, kind.view == .even, !payload.isMultiple(of: 2) { continue }
        if kind.isOnce { handlers[number].isAlive = false }
        if kind.isInterceptor {
          switch "\(program.decide(number, payload))" {
          case let text where text.contains("proceedWith"): payload += 1_000
          case let text where text.contains("stop"): isStopped = true
          default: break
          }
        } else {
          program.handle(number, kind.view == .doubled ? payload * 2 : payload)
        }
      }
    }
    isDelivering = false
  }
  private func isCallable(_ number: Int) -> Bool {
    let handler = handlers[number]
    return handler.isAlive && !handler.isLocked && handler.scopes == 0 && !isLocked
  }
  func add(_ kind: HandlerKind) { handlers.append(Handler(kind: kind)) }
  func remove(_ handler: Int) -> Bool { change(handler) { $0.isAlive = false } }
  func removeAll(of owner: Int?) -> Int {
    handlers.indices.count { number in
      (owner == nil || handlers[number].kind.owner == owner) && remove(number)
    }
  }
  func lock(_ handler: Int) -> Bool { change(handler) { $0.isLocked = true } }
  func unlock(_ handler: Int) -> Bool { change(handler) { $0.isLocked = false } }
  private func change(_ handler: Int, _ body: (inout Handler) -> Void) -> Bool {
    guard handlers.indices.contains(handler), handlers[handler].isAlive else { return false }
    body(&handlers[handler])
    return true
  }
  func withLocked(_ handler: Int, _ body: () -> Void) {
    let isThere = handlers.indices.contains(handler)
    if isThere { handlers[handler].scopes += 1 }
    body()
    if isThere { handlers[handler].scopes -= 1 }
  }
  func lockEvent(_ isLocked: Bool) { self.isLocked = isLocked }
  func replaceOwner(_ owner: Int) {
    for number in handlers.indices where handlers[number].kind.owner == owner { handlers[number].isAlive = false }
  }
  var count: Int { handlers.count(where: \.isAlive) }
}

@Suite("Random programs of local events") struct RandomProgramTests {
  @Test("a local event does what a simple model does, whatever its handlers do") func programs() {
    var calls = 0
    var nested = 0
    for seed in 0..<500 as Range<UInt64> {
      let (program, expected) = (Program(seed: seed), Program(seed: seed))
      program.run(RealWorld(program))
      expected.run(Model(expected))
      guard program.log == expected.log else {
        let place = zip(program.log, expected.log).prefix { $0 == $1 }.count
        let got = program.log.dropFirst(place).first ?? "the end"
        let wanted = expected.log.dropFirst(place).first ?? "the end"
        Issue.record("seed \(seed), line \(place): expected \(wanted), got \(got)")
        return
      }
      calls += program.log.count { $0.contains("got") }
      nested += zip(program.log, program.log.dropFirst()).count { $0.contains("got") && $1 == "posted" }
    }
    // Shows that the programs do something.
    #expect(calls > 5_000 && nested > 500, "\(calls) calls, \(nested) nested posts")
  }
}
