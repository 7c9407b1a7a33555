import Dispatch
import Eventing
import Testing

/// Tests of the recorded place in the source where a handler was made.
@Suite(.fewAtATime) struct SourceLineTests {
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
    expect(event.addHandler(.named("a")) { _ in })
    expect(event.addHandler(.priority(1)) { _ in })
    expect(event.addHandler(on: .background) { _ in })
    expect(event.addHandler { _ in await Task.yield() })
    expect(event.addHandler(on: .main) { @MainActor _ in })
    expect(event.addHandler(on: .main) { @MainActor _ in await Task.yield() })
    expect(event.addHandler(isolatedTo: Clerk()) { _, _ in })
    expect(event.once(.named("a")) { _ in })
    expect(event.once { _ in await Task.yield() })
    expect(event.once(on: .main) { @MainActor _ in })
    expect(event.once(on: .main) { @MainActor _ in await Task.yield() })
    expect(event.intercept { _ in .proceed })
    expect(event.add(contentsOf: [Handler(on: .background) { _ in }])[0])
    expect(event.addHandler(.named("a")) { _ in await Task.yield() })
    expect(event.addHandler(on: .main) { @MainActor _ in })
    expect(event.addHandler(on: .main) { @MainActor _ in await Task.yield() })
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
    expect(signal.addHandler(isolatedTo: Clerk()) { _, _ in })
    expect(event.addHandler(owner: desk) { $0.take($1) })
    expect(event.addHandler(owner: desk) { await $0.takeLater($1) })
    expect(event.addHandler(on: .main, owner: desk) { $0.show($1) })
    expect(event.addHandler(owner: desk) { $0.note($1, "a") })
  }

  @Test func otherSourcesKnowTheLine() {
    let (event, bus, desk, keyed) = (Event<Int>(), EventBus(), Desk(), KeyedEvent<String, Int>())
    expect(event.map { $0 + 1 }.addHandler(on: .background) { _ in })
    expect(event.map { $0 + 1 }.addHandler { _ in })
    expect(event.removeDuplicates().addHandler(.named("a")) { _ in })
    expect(event.occurrences.addHandler { _ in })
    expect(keyed["a"].addHandler { _ in })
    expect(keyed["a"].addHandler(on: .background) { _ in })
    expect(Observed(1).changes().addHandler { _ in })
    expect(Observed(1).newValues.addHandler { _ in })
    expect(bus.event(for: Int.self).addHandler(.named("a")) { _ in })
    expect(bus.event(for: Int.self).addHandler { _ in await Task.yield() })
    expect(bus.event(for: Int.self).addHandler(on: .main) { @MainActor _ in })
    expect(bus.event(for: Int.self).addHandler(on: .main) { @MainActor _ in await Task.yield() })
    expect(bus.event(for: Int.self).addHandler(owner: desk) { _, _ in })
    expect(bus.event(for: Int.self).addHandler(owner: desk) { _, _ in await Task.yield() })
    expect(bus.event(for: Int.self).addHandler(on: .main, owner: desk) { @MainActor _, _ in })
    expect(bus.event(for: Int.self).addHandler(on: .main, owner: desk) { @MainActor _, _ in await Task.yield() })
    expect(EventQuestion<Int, Int>().addResponder { $0 })
    expect(event.batches(of: 2).addHandler(.once) { _ async in })
    expect(event.addHandler(.debounced(for: .seconds(1))) { _ in })
  }

  @Test func aHandlerOfAllPayloadsKnowsItsLine() async {
    let (bus, desk, type) = (EventBus(), Desk(), (any Sendable).self)
    expect(bus.all(as: type).addHandler(.named("a")) { _ in })
    expect(bus.all(as: type).addHandler(.named("b")) { _ in await Task.yield() })
    expect(bus.all(as: type).addHandler(.named("c"), on: .main) { @MainActor _ in })
    expect(bus.all(as: type).addHandler(.named("d"), on: .main) { @MainActor _ in await Task.yield() })
    expect(bus.all(as: type).addHandler(.named("e"), owner: desk) { _, _ in })
    expect(bus.all(as: type).addHandler(.named("f"), owner: desk) { _, _ in await Task.yield() })
    expect(bus.all(as: type).addHandler(.named("g"), on: .main, owner: desk) { @MainActor _, _ in })
    expect(bus.all(as: type).addHandler(.named("h"), on: .main, owner: desk) { @MainActor _, _ in await Task.yield() })
    let first = #line - 8
    let handlers = await bus.event(for: Int.self).handlers()
    #expect(handlers.map(\.name) == ["a", "b", "c", "d", "e", "f", "g", "h"])
    #expect(handlers.map(\.token.line) == (first..<first + 8).map { $0 })
    #expect(Set(handlers.map(\.token.fileID)) == ["EventingTests/SourceLineTests.swift"])
  }

  @Test func anInlineHandlerWithoutOptionsKnowsItsLineInADebugBuild() {
    let (event, line) = (Event<Int>(), #line + 1)
    for token in [event.addHandler { _ in }, event.once { _ in }, event.addHandler { _ in }] {
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
      event.addHandler(.named("logger"), fileID: fileID, line: line) { _ in }
    }
    expect(addLogger(to: Event<Int>()))
  }
}
