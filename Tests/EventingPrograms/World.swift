import Eventing

struct Call: Sendable, Equatable {
  let handler: Int
  let payload: Int
}

struct Refusal: Error {}

final class OwnerObject: Sendable {}

/// An event of the library beside its model. Both perform the actions, on one thread.
final class World: @unchecked Sendable {
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
    calls == model.calls && event.handlerCount == model.living.count && event.isLocked == model.isEventLocked
      && tokens.indices.allSatisfy { number in
        let handler = model.handlers[number]
        return event.contains(tokens[number]) == !handler.isGone
          && event.isLocked(tokens[number]) == (!handler.isGone && handler.isLocked)
      }
  }

  /// The description of the first difference from the model.
  var difference: String {
    guard calls == model.calls else {
      let common = zip(calls, model.calls).prefix { $0 == $1 }.count
      return "expected the calls \(model.calls.dropFirst(common).prefix(3)), got \(calls.dropFirst(common).prefix(3))"
    }
    guard event.handlerCount == model.living.count else {
      return "expected \(model.living.count) handlers, got \(event.handlerCount)"
    }
    return "a lock is not as expected"
  }

  func perform(_ action: Action) {
    switch action {
    case .add(let kind): tokens.append(event.add(handler(kind)))
    case .addGroup(let kinds): tokens += event.add(contentsOf: kinds.map(handler))
    case .remove(let number): if let token = token(number) { event.remove(token) }
    case .removeNamed(let number): event.removeAll(where: .named(World.names[number % 2]))
    case .removeAll: event.removeAll()
    case .lock(let number): if let token = token(number) { event.lock(token) }
    case .unlock(let number): if let token = token(number) { event.unlock(token) }
    case .lockNamed(let number): event.lockAll(where: .named(World.names[number % 2]))
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
    let owner = kind.hasOwner ? OwnerObject() : nil
    if let owner { owners[number] = owner }
    let call: @Sendable (Int) throws -> Void = { [weak self] payload in
      guard let self else { return }
      calls.append(Call(handler: number, payload: payload))
      let count = callsOf[number, default: 0]
      callsOf[number] = count + 1
      if count < kind.actions.count { perform(kind.actions[count]) }
      if kind.throwsError { throw Refusal() }
    }
    var handler = owner.map { Handler(owner: $0) { _, payload in try call(payload) } } ?? Handler(perform: call)
    if kind.priority != 0 { handler = handler.with(.priority(kind.priority)) }
    if let name = kind.name { handler = handler.with(.named(name)) }
    if kind.isOnce { handler = handler.with(.once) }
    return handler
  }
}
