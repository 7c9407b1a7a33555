import Eventing
import Synchronization
import Testing

/// Handlers whose key is an object that has been released: see ``ObjectKey``.
@Suite(.timeLimit(.minutes(2))) struct DeadKeyTests {
  private final class View: Sendable {}

  /// Counts how many of its instances are alive.
  private final class Captured: Sendable {
    let alive: Alive
    init(_ alive: Alive) {
      self.alive = alive
      alive.count.wrappingAdd(1, ordering: .relaxed)
    }
    deinit { alive.count.wrappingSubtract(1, ordering: .relaxed) }
  }
  private final class Alive: Sendable {
    let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
  }

  /// Adds a handler for each of several objects, and releases the objects. Returns the last token.
  private func open(_ count: Int, in event: KeyedEvent<ObjectKey, Int>, _ alive: Alive) -> HandlerToken? {
    let views = (0..<count).map { _ in View() }
    var token: HandlerToken?
    for view in views {
      let captured = Captured(alive)
      token = event[view].addHandler(.named("dead")) { _ in withExtendedLifetime(captured) {} }
    }
    return token
  }

  @Test func handlersOfReleasedObjectsAreNeitherCountedNorListed() async {
    let (event, living, alive) = (KeyedEvent<ObjectKey, Int>(), View(), Alive())
    event[living].addHandler { _ in }
    let token = open(40, in: event, alive)
    #expect(event.handlerCount == 1)
    #expect(event.keys.count == 1)
    #expect(!event.contains(where: .named("dead")))
    let isContained = token.map { event.contains($0) }
    #expect(isContained == false)
    #expect(await event.handlers().count == 1)
  }

  @Test func postsToAnotherKeyReleaseThem() {
    let (event, living, alive) = (KeyedEvent<ObjectKey, Int>(), View(), Alive())
    event[living].addHandler { _ in }
    _ = open(500, in: event, alive)
    for payload in 0..<2_400 { event.post(payload, to: living) }
    #expect(alive.value == 0)
  }

  @Test func sendsToAnotherKeyReleaseThem() async {
    let (event, living, alive) = (KeyedEvent<ObjectKey, Int>(), View(), Alive())
    event[living].addHandler { _ in }
    _ = open(500, in: event, alive)
    for payload in 0..<2_400 { await event.send(payload, to: living) }
    #expect(alive.value == 0)
  }

  @Test func aLoopOverTheirPayloadsEndsWithoutFurtherAdditions() async {
    let (event, living) = (KeyedEvent<ObjectKey, Int>(), View())
    event[living].addHandler { _ in }
    func follow() -> Task<Void, Never> {
      let view = View()
      let payloads = event[view].payloads()
      return Task { for await _ in payloads {} }
    }
    let loop = follow()
    for payload in 0..<200 { event.post(payload, to: living) }
    await loop.value  // a loop that does not end runs into the time limit
  }

  @Test func quiesceReleasesAllOfThem() async {
    let (event, living, alive) = (KeyedEvent<ObjectKey, Int>(), View(), Alive())
    event[living].addHandler { _ in }
    _ = open(300, in: event, alive)
    await event.quiesce()
    #expect(alive.value == 0)
  }
}
