import Eventing

/// The methods that need no `await`.
enum AnyCall: CaseIterable, Sendable {
  case post, postMany, submit, add, addMany, once, addOnALane, addAndRemove, removeNamed, removeOwned, removeAll
  case lock, lockNamed, lockAll, gate, looks, bag, finish

  func make(on event: Event<Int>) {
    switch self {
    case .post: event.post(2)
    case .postMany: for number in 2..<12 { event.post(number) }
    case .submit: _ = event.submit(2)
    case .add: event.addHandler { _ in }
    case .addMany:
      event.add(Handler { _ in }, Handler(.named("many"), on: .background) { _ in }, Handler { _ async in })
    case .once: event.once { _ in }
    case .addOnALane:
      event.addHandler(on: .background) { _ in }
      event.addHandler(on: .main) { _ in }
      event.addHandler { _ async in }
      event.addHandler(on: .concurrent(limit: 2)) { _ in }
      event.addHandler(on: .task) { _ in }
    case .addAndRemove: for _ in 0..<5 { event.remove(event.addHandler { _ in }) }
    case .removeNamed: event.removeAll(where: .named("own"))
    case .removeOwned: event.removeAll(where: .ownedBy(event))
    case .removeAll: event.removeAll()
    case .lock:
      let token = event.addHandler { _ in }
      event.lock(token)
      _ = event.isLocked(token)
      event.unlock(token)
    case .lockNamed:
      event.lockAll(where: .named("own"))
      event.unlockAll(where: .named("own"))
    case .lockAll:
      event.lockAll()
      event.unlockAll()
    case .gate:
      event.lock()
      _ = event.isLocked
      event.unlock()
    case .looks:
      _ = event.handlerCount
      _ = event.handlerCount > 0
      _ = event.contains(where: .named("own"))
      _ = event.description
    case .bag:
      let bag = HandlerBag()
      for _ in 0..<3 { event.addHandler { _ in }.store(in: bag) }
    case .finish: event.finish()
    }
  }
}

enum Ending: CaseIterable, Sendable {
  case removed, removedByName, allRemoved, usedUp, removedInside, finished, removedByABag

  func end(_ token: HandlerToken, of event: Event<Int>) {
    switch self {
    case .removed: event.remove(token)
    case .removedByName: event.removeAll(where: .named("ends"))
    case .allRemoved: event.removeAll()
    case .usedUp: event.post(1)
    case .removedInside:
      event.addHandler(.priority(1)) { _ in event.remove(token) }
      event.post(1)
    case .finished: event.finish()
    case .removedByABag:
      let bag = HandlerBag()
      token.store(in: bag)
      bag.removeAll()
    }
  }
}
