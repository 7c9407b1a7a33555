import Eventing
import Testing

/// Tests of the filters that select several handlers of an event.
@Suite struct HandlerFilterTests {
  private final class Plain: Sendable {}

  private struct Stage {
    let event = Event<Int>("e")
    let copy = Event<Int>("copy")
    let owner = Plain()
    let tokens: [HandlerToken]

    init() {
      tokens = [
        event.addHandler(.named("mail")) { _ in },
        event.addHandler(.named("disk"), .tagged("io")) { _ in },
        event.addHandler(.tagged("io"), owner: owner) { _, _ in },
        event.forward(to: copy),
      ]
    }

    func selected(_ filter: HandlerFilter) async -> [Int] {
      let ids = await event.handlers(where: filter).map(\.id)
      return tokens.indices.filter { ids.contains(tokens[$0].id) }
    }
  }

  @Test func eachFilterSelectsItsHandlers() async {
    let stage = Stage()
    #expect(await stage.selected(.all) == [0, 1, 2, 3])
    #expect(await stage.selected(.named("mail", "disk")) == [0, 1])
    #expect(await stage.selected(.named()) == [])
    #expect(await stage.selected(.tagged("io")) == [1, 2])
    #expect(await stage.selected(.ownedBy(stage.owner)) == [2])
    #expect(await stage.selected(.ownedBy(stage.copy)) == [])
    #expect(await stage.selected(.forwarding(to: stage.copy)) == [3])
    #expect(await stage.selected(.forwarding(to: stage.event)) == [])
    #expect(await stage.selected(.oneOf([stage.tokens[3], stage.tokens[0]])) == [0, 3])
    #expect(await stage.selected(.oneOf([Event<Int>().addHandler { _ in }])) == [])
  }

  @Test func filtersCombine() async {
    let stage = Stage()
    #expect(await stage.selected(.tagged("io") && !.ownedBy(stage.owner)) == [1])
    #expect(await stage.selected(.named("mail") || .forwarding(to: stage.copy)) == [0, 3])
    #expect(await stage.selected(!(.named("mail") || .tagged("io"))) == [3])
    #expect("\(HandlerFilter.tagged("io") && !.named("mail", "disk"))" == "(tagged(io) && !named(mail, disk))")
    #expect("\(HandlerFilter.all || .oneOf(stage.tokens))" == "(all || oneOf(4 tokens))")
  }

  @Test func theVerbsSayHowMany() {
    let stage = Stage()
    #expect(stage.event.lockAll(where: .tagged("io")) == 2 && stage.event.isLocked(stage.tokens[1]))
    #expect(stage.event.unlockAll(where: .named("disk")) == 1 && !stage.event.isLocked(stage.tokens[1]))
    #expect(stage.event.contains(where: .named("mail")) && !stage.event.contains(where: .named("post")))
    #expect(stage.event.removeAll(where: .oneOf(stage.tokens) && !.named("mail")) == 3)
    #expect(stage.event.removeAll() == 1 && stage.event.handlerCount == 0)
  }
}

extension HandlerFilterTests {
  /// A key whose `==` calls the event: it must not run under the mutex of the core.
  private struct Curious: Hashable, Sendable {
    let number: Int
    let look: @Sendable () -> Void
    static func == (a: Curious, b: Curious) -> Bool {
      a.look()
      return a.number == b.number
    }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  @Test func aFilterSelectsTheHandlersOfAKeyAndComparesKeysWithoutAMutex() async {
    let event = KeyedEvent<Curious, Int>()
    @Sendable func key(_ number: Int) -> Curious { Curious(number: number) { _ = event.handlerTable } }
    for number in 0..<3 { event[key(number % 2)].addHandler(.named("\(number)")) { _ in } }
    event.anyKey.addHandler(.named("any")) { _ in }
    let curious = Curious(number: 0) { _ = event.isLocked }
    await comesBack {
      #expect(await event.handlers(where: .key(curious)).map(\.name) == ["0", "2"])
      #expect(event.lockAll(where: .key(curious) && .named("0")) == 1)
      #expect(event.contains(where: .key(key(1))) && !event.contains(where: .key(key(7))))
      #expect(event.removeAll(where: .key(curious)) == 2)
      #expect(event.removeAll(where: .key("of another type")) == 0)
      #expect(event.handlerCount == 2)
    }
    #expect(Event<Int>().removeAll(where: .key(1)) == 0)
  }
}
