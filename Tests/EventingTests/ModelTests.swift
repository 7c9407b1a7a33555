import Eventing
import Testing

/// Random programs on one thread, inside handlers too, against a model that looks at every handler each time (G3, G4, G6 to G10, G21).
@Suite(.timeLimit(.minutes(1))) struct ModelTests {
  @Test func randomProgramsDoWhatTheModelSays() async {
    var random = SeededGenerator.fresh("programs")
    var (calls, skips) = (0, 0)
    for program in 0..<500 {
      let world = World()
      for step in 0..<60 {
        let action = Action.random(using: &random)
        let isSend = Int.random(in: 0..<3, using: &random) == 0
        if isSend {
          let report = await world.event.send(step)
          let expected = world.model.send(step)
          #expect(report.sequence == expected.sequence, "program \(program), EVENTING_SEED=\(random.seed)")
          #expect(report.delivered == expected.delivered, "program \(program), EVENTING_SEED=\(random.seed)")
          #expect(report.skipped == expected.skipped, "program \(program), EVENTING_SEED=\(random.seed)")
          #expect(report.failures.count == expected.failed, "program \(program), EVENTING_SEED=\(random.seed)")
          calls += expected.delivered
          skips += expected.skipped
        } else {
          world.perform(action)
          world.model.perform(action)
          world.model.settle()
        }
        guard world.isAsTheModelSays else {
          Issue.record("program \(program), step \(step), \(isSend ? "send" : "\(action)"), EVENTING_SEED=\(random.seed)")
          return
        }
      }
    }
    #expect(calls > 10_000)
    #expect(skips > 1_000)
  }
}

/// What a program does, at top level or inside a handler. The numbers choose among the handlers that there have been.
private enum Action: Sendable {
  case add(Kind)
  case addGroup([Kind])
  case remove(Int)
  case removeNamed(Int)
  case removeAll
  case lock(Int)
  case unlock(Int)
  case lockNamed(Int)
  case unlockAll
  case gate(Bool)
  case dropOwner(Int)
  case post(Int)

  static func random(using random: inout SeededGenerator, depth: Int = 0) -> Action {
    let number = Int.random(in: 0..<1_000, using: &random)
    switch Int.random(in: 0..<40, using: &random) {
    case 0..<12: return depth < 3 ? .add(.random(using: &random, depth: depth)) : .post(number)
    case 12: return depth < 2 ? .addGroup((0..<3).map { _ in .random(using: &random, depth: depth) }) : .post(number)
    case 13..<18: return .remove(number)
    case 18: return .removeNamed(number)
    case 19: return number % 5 == 0 ? .removeAll : .unlockAll
    case 20..<24: return .lock(number)
    case 24..<28: return .unlock(number)
    case 28: return .lockNamed(number)
    case 29: return .gate(true)
    case 30..<33: return .gate(false)
    case 33..<35: return .dropOwner(number)
    default: return .post(number)
    }
  }
}

/// What a handler is like. It acts at its first calls.
private struct Kind: Sendable {
  var priority = 0
  var name: String?
  var isOnce = false
  var hasOwner = false
  var throwsError = false
  var actions: [Action] = []

  static func random(using random: inout SeededGenerator, depth: Int) -> Kind {
    func oneIn(_ count: Int, _ random: inout SeededGenerator) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
    var kind = Kind()
    if oneIn(4, &random) { kind.priority = Int.random(in: -1...2, using: &random) }
    if oneIn(4, &random) { kind.name = World.names.randomElement(using: &random) }
    kind.isOnce = oneIn(5, &random)
    kind.hasOwner = oneIn(5, &random)
    kind.throwsError = oneIn(8, &random)
    if oneIn(3, &random) { kind.actions = (0..<2).map { _ in .random(using: &random, depth: depth + 1) } }
    return kind
  }
}

private struct Call: Sendable, Equatable {
  let handler: Int
  let payload: Int
}

private struct Refusal: Error {}

private final class OwnerObject: Sendable {}

/// The library, on one thread.
private final class World: @unchecked Sendable {
  static let names = ["a", "b"]
  let event = Event<Int>()
  let model = Model()
  private var tokens: [HandlerToken] = []
  private var owners: [Int: OwnerObject] = [:]
  private var callsOf: [Int: Int] = [:]
  private var calls: [Call] = []
  private var posts = 0
  private var added = 0

  var isAsTheModelSays: Bool {
    calls == model.calls && event.handlerCount == model.living.count && event.isLocked == model.isGated
      && tokens.indices.allSatisfy { number in
        let handler = model.handlers[number]
        return event.contains(tokens[number]) == !handler.isGone
          && event.isLocked(tokens[number]) == (handler.isGone ? nil : handler.isLocked)
      }
  }

  func perform(_ action: Action) {
    switch action {
    case .add(let kind): tokens.append(event.attach(handler(kind)))
    case .addGroup(let kinds): tokens += event.add(kinds.map(handler))
    case .remove(let number): if let token = token(number) { event.remove(token) }
    case .removeNamed(let number): event.remove(named: World.names[number % 2])
    case .removeAll: event.removeAll()
    case .lock(let number): if let token = token(number) { event.lock(token) }
    case .unlock(let number): if let token = token(number) { event.unlock(token) }
    case .lockNamed(let number): event.lock(named: World.names[number % 2])
    case .unlockAll: event.unlockAll()
    case .gate(let isOn): if isOn { event.lock() } else { event.unlock() }
    case .dropOwner(let number): if !tokens.isEmpty { owners[number % tokens.count] = nil }
    case .post(let number):
      posts += 1
      if posts <= Model.mostPosts { event.post(number) }
    }
  }

  private func token(_ number: Int) -> HandlerToken? { tokens.isEmpty ? nil : tokens[number % tokens.count] }

  private func handler(_ kind: Kind) -> Handler<Int> {
    let number = added
    added += 1
    var handler = Handler<Int> { [weak self] payload in
      guard let self else { return }
      calls.append(Call(handler: number, payload: payload))
      let count = callsOf[number, default: 0]
      callsOf[number] = count + 1
      if count < kind.actions.count { perform(kind.actions[count]) }
      if kind.throwsError { throw Refusal() }
    }
    if kind.priority != 0 { handler = handler.priority(kind.priority) }
    if let name = kind.name { handler = handler.named(name) }
    if kind.isOnce { handler = handler.once() }
    if kind.hasOwner {
      let owner = OwnerObject()
      owners[number] = owner
      handler = handler.owned(by: owner)
    }
    return handler
  }
}

/// What the library should do, in the plainest way.
private final class Model {
  struct State {
    var isGone = false
    var isLocked = false
    var calls = 0
  }
  struct Report {
    var sequence: UInt64 = 0
    var delivered = 0
    var skipped = 0
    var failed = 0
  }
  enum Waiting {
    case join([Int])
    case occurrence(Int)
  }

  static let mostPosts = 200
  private(set) var handlers: [State] = []
  private(set) var calls: [Call] = []
  private(set) var isGated = false
  private var kinds: [Kind] = []
  private var order: [Int] = []
  private var waiting: [Waiting] = []
  private var posts = 0
  private var sequence: UInt64 = 0

  var living: [Int] { handlers.indices.filter { !handlers[$0].isGone } }

  func send(_ payload: Int) -> Report {
    let report = deliver(payload)
    settle()
    return report
  }

  /// What changes and posts queued: in their order.
  func settle() {
    while !waiting.isEmpty {
      switch waiting.removeFirst() {
      case .join(let numbers):
        for number in numbers {
          order.insert(number, at: order.firstIndex { kinds[$0].priority < kinds[number].priority } ?? order.endIndex)
        }
      case .occurrence(let payload): _ = deliver(payload)
      }
    }
  }

  private func deliver(_ payload: Int) -> Report {
    sequence += 1
    var report = Report(sequence: sequence)
    for number in order where !handlers[number].isGone {
      if isGated || handlers[number].isLocked {
        report.skipped += 1
        continue
      }
      let kind = kinds[number]
      calls.append(Call(handler: number, payload: payload))
      if kind.isOnce { handlers[number].isGone = true }
      let count = handlers[number].calls
      handlers[number].calls += 1
      if count < kind.actions.count { perform(kind.actions[count]) }
      if kind.throwsError { report.failed += 1 } else { report.delivered += 1 }
    }
    return report
  }

  func perform(_ action: Action) {
    switch action {
    case .add(let kind): join([kind])
    case .addGroup(let kinds): join(kinds)
    case .remove(let number): change(number) { $0.isGone = true }
    case .removeNamed(let number): for one in named(number) { handlers[one].isGone = true }
    case .removeAll: for one in living { handlers[one].isGone = true }
    case .lock(let number): change(number) { $0.isLocked = true }
    case .unlock(let number): change(number) { $0.isLocked = false }
    case .lockNamed(let number): for one in named(number) { handlers[one].isLocked = true }
    case .unlockAll: for one in living { handlers[one].isLocked = false }
    case .gate(let isOn): isGated = isOn
    case .dropOwner(let number):
      if !handlers.isEmpty, kinds[number % handlers.count].hasOwner { handlers[number % handlers.count].isGone = true }
    case .post(let number):
      posts += 1
      if posts <= Model.mostPosts { waiting.append(.occurrence(number)) }
    }
  }

  private func join(_ new: [Kind]) {
    waiting.append(.join(Array(handlers.count..<handlers.count + new.count)))
    for kind in new {
      kinds.append(kind)
      handlers.append(State())
    }
  }

  private func change(_ number: Int, _ body: (inout State) -> Void) {
    guard !handlers.isEmpty, !handlers[number % handlers.count].isGone else { return }
    body(&handlers[number % handlers.count])
  }

  private func named(_ number: Int) -> [Int] { living.filter { kinds[$0].name == World.names[number % 2] } }
}
