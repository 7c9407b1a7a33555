#if DEBUG
  import EventingDiagnostics
  import Testing

  @testable import Eventing

  /// Tests that a look of `EventDiagnostics`, and a snapshot, cost what they tell, whatever other
  /// events do.
  @Suite(.fewAtATime, .timeLimit(.minutes(30))) struct LookCostTests {
    private typealias Watch = StuckTests.Watch

    /// Returns the number of steps of one look that tells of `count` stuck calls, for each of which
    /// a `send` waits.
    private func stepsToTell(of count: Int) async -> Int {
      let (event, watch, begun, gate) = (Event<Int>(), Watch(), Countdown(count), Gate())
      let observation = event.observe(with: watch.diagnostics)
      event.addHandler(on: .concurrent(limit: count)) { (_: Int) async in
        begun.arrive()
        await gate.opened()
      }
      // While diagnostics with a limit observe, each wait is noted.
      let sends = (0..<count).map { number in Task { await event.send(number) } }
      await begun.opened()
      while WaitingSends.noted < count { await Task.yield() }
      var look = WaitingSends.Look()
      let calls = Eventing.RunningCalls.all.filter { $0.isObserved { ($0 as? EventDiagnostics) === watch.diagnostics } }
      #expect(calls.count == count)
      for call in calls { #expect(look.waits(for: call).count == 1) }
      gate.open()
      for send in sends { _ = await send.value }
      observation.end()
      return look.steps
    }

    @Test func aLookCostsAsMuchAsItTells() async {
      let (few, many) = (await stepsToTell(of: 20), await stepsToTell(of: 200))
      #expect(many < 30 * few, "\(few) steps for 20 calls, \(many) for 200")
    }

    @Test func theOldestCallIsThatOfTheHandler() {
      let (event, other) = (Event<Int>(), Event<Int>())
      event.observe(with: StuckTests.Watch().diagnostics)
      let (token, another) = (event.addHandler { _ in }, other.addHandler { _ in })
      let observed = ObservedOccurrence(observers: Observers([], of: event.identity), sequence: 1)
      let starts = (1...4).map { StableInstant(sinceOrigin: .seconds($0)) }
      let places = starts.map { Eventing.RunningCalls.begin(token, observed, $0, on: nil) }
      let rest = (0..<1_000).map { _ in Eventing.RunningCalls.begin(another, observed, starts[0], on: nil) }
      func oldest() -> Duration? { Eventing.RunningCalls.oldestStart(of: token.record)?.sinceOrigin }
      #expect(oldest() == .seconds(1))
      Eventing.RunningCalls.end(places[1])
      Eventing.RunningCalls.end(places[0])
      #expect(oldest() == .seconds(3))
      // The memory of a burst goes while a call still runs.
      let before = Eventing.RunningCalls.capacity
      for place in rest.dropLast() { Eventing.RunningCalls.end(place) }
      #expect(Eventing.RunningCalls.capacity < before - 500)
      Eventing.RunningCalls.end(places[3])
      #expect(oldest() == .seconds(3))
      Eventing.RunningCalls.end(places[2])
      #expect(oldest() == nil)
      Eventing.RunningCalls.end(rest[999])
    }
  }
#endif
