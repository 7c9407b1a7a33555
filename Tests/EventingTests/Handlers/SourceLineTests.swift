import Dispatch
import Eventing
import Testing

/// Tests of the recorded place in the source where a handler was made.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct SourceLineTests {
  final class Desk: Sendable {
    func take(_ number: Int) {}
    func takeLater(_ number: Int) async {}
    func note(_ number: Int, _ text: String) {}
    @MainActor func show(_ number: Int) {}
  }
  actor Clerk {}

  private func expect(_ token: HandlerToken, at line: Int = #line, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(token.fileID == "EventingTests/SourceLineTests.swift", sourceLocation: sourceLocation)
    #expect(token.line == line, sourceLocation: sourceLocation)
  }

  @Test func everyWayToAddAHandlerKnowsItsLine() {
    let event = Event<Int>()
    expect(event.addHandler(named: "a") { _ in })
    expect(event.addHandler(priority: 1) { _ in })
    expect(event.addHandler(on: .background) { _ in })
    expect(event.addHandler { _ in await Task.yield() })
    expect(event.addHandler(on: .main) { @MainActor _ in })
    expect(event.addHandler(on: .main) { @MainActor _ in await Task.yield() })
    expect(event.addHandler(isolatedTo: Clerk()) { _, _ in })
    expect(event.once(named: "a") { _ in })
    expect(event.once { _ in await Task.yield() })
    expect(event.once(on: .main) { @MainActor _ in })
    expect(event.once(on: .main) { @MainActor _ in await Task.yield() })
    expect(event.intercept { _ in .proceed })
    expect(event.add([Handler(on: .background) { _ in }])[0])
    expect(event.attach(Handler { _ in await Task.yield() }.named("a")))
    expect(event.attach(Handler(on: .main) { @MainActor _ in }))
    expect(event.attach(Handler(on: .main) { @MainActor _ in await Task.yield() }))
  }

  @Test func everyWayToAddAHandlerWithAnOwnerKnowsItsLine() {
    let (event, signal, desk) = (Event<Int>(), Signal(), Desk())
    expect(event.addHandler(owner: desk) { _, _ in })
    expect(event.addHandler(owner: desk) { _, _ in await Task.yield() })
    expect(event.addHandler(on: .main, owner: desk) { @MainActor _, _ in })
    expect(event.addHandler(on: .main, owner: desk) { @MainActor _, _ in await Task.yield() })
    expect(signal.addHandler(owner: desk) { _ in })
    expect(signal.addHandler(owner: desk) { _ in await Task.yield() })
    expect(signal.addHandler(on: .main, owner: desk) { @MainActor _ in })
    expect(signal.addHandler(on: .main, owner: desk) { @MainActor _ in await Task.yield() })
    expect(signal.addHandler(isolatedTo: Clerk()) { _ in })
    expect(event.addHandler(Desk.take, of: desk))
    expect(event.addHandler(Desk.takeLater, of: desk))
    expect(event.addHandler(on: .main, Desk.show, of: desk))
    expect(event.addHandler(Desk.note, of: desk, with: "a"))
  }

  @Test func otherSourcesKnowTheLine() {
    let (event, bus, desk, keyed) = (Event<Int>(), EventBus(), Desk(), KeyedEvent<String, Int>())
    expect(event.map { $0 + 1 }.addHandler(on: .background) { _ in })
    expect(event.map { $0 + 1 }.addHandler { _ in })
    expect(event.removeDuplicates().addHandler(named: "a") { _ in })
    expect(event.occurrences.addHandler { _ in })
    expect(keyed["a"].addHandler { _ in })
    expect(keyed["a"].addHandler(on: .background) { _ in })
    expect(Observed(1).addHandler(options: [.new]) { _ in })
    expect(Observed(1).values.addHandler { _ in })
    expect(bus.addHandler(for: Int.self, named: "a") { _ in })
    expect(bus.addHandler(for: Int.self) { _ in await Task.yield() })
    expect(bus.addHandler(for: Int.self, on: .main) { @MainActor _ in })
    expect(bus.addHandler(for: Int.self, on: .main) { @MainActor _ in await Task.yield() })
    expect(bus.addHandler(for: Int.self, owner: desk) { _, _ in })
    expect(bus.addHandler(for: Int.self, owner: desk) { _, _ in await Task.yield() })
    expect(bus.addHandler(for: Int.self, on: .main, owner: desk) { @MainActor _, _ in })
    expect(bus.addHandler(for: Int.self, on: .main, owner: desk) { @MainActor _, _ in await Task.yield() })
    expect(EventQuestion<Int, Int>().addResponder { $0 })
    expect(event.attach(Handler(batchesOf: 2) { _ async in }.once()))
    expect(event.attach(Handler { _ in }.debounced(for: .seconds(1))))
  }

  @Test func aHandlerOfAllPayloadsKnowsItsLine() async {
    let (bus, desk, type) = (EventBus(), Desk(), (any Sendable).self)
    expect(bus.addHandler(forAll: type, named: "a") { _ in })
    expect(bus.addHandler(forAll: type, named: "b") { _ in await Task.yield() })
    expect(bus.addHandler(forAll: type, named: "c", on: .main) { @MainActor _ in })
    expect(bus.addHandler(forAll: type, named: "d", on: .main) { @MainActor _ in await Task.yield() })
    expect(bus.addHandler(forAll: type, named: "e", owner: desk) { _, _ in })
    expect(bus.addHandler(forAll: type, named: "f", owner: desk) { _, _ in await Task.yield() })
    expect(bus.addHandler(forAll: type, named: "g", on: .main, owner: desk) { @MainActor _, _ in })
    expect(bus.addHandler(forAll: type, named: "h", on: .main, owner: desk) { @MainActor _, _ in await Task.yield() })
    let first = #line - 8
    let handlers = await bus.event(for: Int.self).handlers()
    #expect(handlers.map(\.name) == ["a", "b", "c", "d", "e", "f", "g", "h"])
    #expect(handlers.map(\.line) == (first..<first + 8).map { $0 })
    #expect(Set(handlers.map(\.fileID)) == ["EventingTests/SourceLineTests.swift"])
  }

  @Test func anInlineHandlerWithoutOptionsKnowsItsLineInADebugBuild() {
    let (event, line) = (Event<Int>(), #line + 1)
    for token in [event.addHandler { _ in }, event.once { _ in }, event.attach(Handler { _ in })] {
      #if DEBUG
        #expect(token.fileID == "EventingTests/SourceLineTests.swift" && token.line == line)
      #else
        #expect(token.fileID == nil && token.line == nil)
      #endif
    }
  }

  @Test func aHandlerThatTheLibraryMakesHasNoLine() {
    let (event, copy) = (Event<Int>(), Event<Int>())
    #expect(event.forward(to: copy).fileID == nil)
    #expect(event.forward(to: copy).line == nil)
  }

  @Test func aWrapperPassesTheLineOfItsCallerOn() {
    func addLogger(to event: Event<Int>, fileID: StaticString = #fileID, line: UInt = #line) -> HandlerToken {
      event.addHandler(named: "logger", fileID: fileID, line: line) { _ in }
    }
    expect(addLogger(to: Event<Int>()))
  }
}
