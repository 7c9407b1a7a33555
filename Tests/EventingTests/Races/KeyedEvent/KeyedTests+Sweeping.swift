import Eventing
import Testing

// Tests of guarantees G10 and G22: each add releases a few handlers that can no longer be called.
extension KeyedTests {
  static let count = 2_000

  @Test func theHandlersOfReleasedObjectsAreSweptAsOthersAreAdded() {
    let (event, live, own) = (KeyedEvent<ObjectKey, Int>(), LiveCount(), Plain())
    var objects = (0..<Self.count).map { _ in Plain() }
    for object in objects {
      let canary = Canary(live)
      event[object].addHandler { _ in canary.sing() }
    }
    objects = []
    Self.sweep(live) { event[own].addHandler { _ in } }
    #expect(event.handlerCount == Self.count)
  }

  @Test func theHandlersOfReleasedOwnersAreSweptAsOthersAreAdded() {
    let (event, live) = (KeyedEvent<Int, Int>(), LiveCount())
    var owners = (0..<Self.count).map { _ in Plain() }
    for (key, owner) in owners.enumerated() {
      let canary = Canary(live)
      event[key].addHandler(owner: owner) { _, _ in canary.sing() }
    }
    owners = []
    Self.sweep(live) { event[-1].addHandler { _ in } }
    #expect(event.handlerCount == Self.count)
  }

  /// A key whose type breaks the rules of `Hashable`, because its value changes.
  private final class Changing: Hashable, Sendable {
    let number: ConditionLock<Int>
    init(_ number: Int) { self.number = ConditionLock(number) }
    static func == (a: Changing, b: Changing) -> Bool { a.number.withLock { $0 } == b.number.withLock { $0 } }
    func hash(into hasher: inout Hasher) { hasher.combine(number.withLock { $0 }) }
  }

  @Test func twoKeysThatBecomeEqualStopNothing() {
    let event = KeyedEvent<Changing, Int>()
    let keys = (0..<Self.count).map(Changing.init)
    let tokens = keys.map { event[$0].addHandler { _ in } }
    keys[Self.count - 2].number.withLock { $0 = Self.count - 1 }
    for token in tokens.dropLast(8) { #expect(event.remove(token)) }
    #expect(event.handlerCount == 8)
  }

  /// Adds `count` handlers to an event with as many handlers that can no longer be called.
  ///
  /// Afterwards none of those handlers may be left, and no single add may have released more than
  /// 64 of them.
  private static func sweep(_ live: LiveCount, _ add: () -> HandlerToken) {
    #expect(live.alive > 0)
    var most = 0
    for _ in 0..<count {
      let before = live.alive
      _ = add()
      most = max(most, before - live.alive)
    }
    #expect(live.alive == 0)
    #expect(most <= 64)
  }
}
