import Eventing
import EventingDiagnostics
import Testing

/// Tests of `EventDiagnostics` while events are made and released, and with many handlers.
@Suite(.fewAtATime) struct DiagnosticsTests {
  static let rounds: Int = {
    #if DEBUG
      20_000
    #else
      150_000
    #endif
  }()

  /// Makes events in groups of 32.
  ///
  /// The events of a group are released one after the other, while other threads begin and end
  /// observations.
  static func makeEvents() {
    for _ in 0..<rounds / 32 {
      let events = (0..<32).map { _ in Event<Int>() }
      for event in events { event.addHandler { _ in } }
    }
  }

  @Test func observationsThatEndBesideDyingEventsComeBack() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let diagnostics = EventDiagnostics(moreHandlersThan: 1_000_000) { _ in }
      let (all, other) = (diagnostics.observeNewEvents(), Event<Int>())
      await onThreads(2) { index in
        if index == 0 { Self.makeEvents() } else { for _ in 0..<Self.rounds { other.observe(with: diagnostics).end() } }
      }
      all.end()
    }
  }

  @Test func diagnosticsThatAreSwitchedOffAndOnBesideDyingEventsComeBack() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let diagnostics = EventDiagnostics(moreHandlersThan: 1_000_000) { _ in }
      await onThreads(3) { index in
        if index < 2 { Self.makeEvents() } else { for _ in 0..<Self.rounds { diagnostics.observeNewEvents().end() } }
      }
    }
  }

  @Test func addingAHandlerToAnObservedEventCostsAsMuchAmongManyAsAmongFew() async {
    let growth = await growth(from: 1_000, to: 16_000, isEnough: 3) { count in
      let event = Event<Int>()
      event.observe(with: EventDiagnostics(moreHandlersThan: 1_000_000) { _ in })
      return processorTime { for _ in 0..<count { event.addHandler { _ in } } }
    }
    #expect(growth < 3)  // it would be 16,000 / 1,000 = 16 if each add visited all handlers
  }
}
