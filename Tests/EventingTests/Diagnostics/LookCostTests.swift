#if DEBUG
  import Testing

  @testable import Eventing
  @testable import EventingDiagnostics

  /// Tests that a look of `EventDiagnostics`, and a snapshot, cost what they tell, whatever other
  /// events do.
  @Suite(.fewAtATime) struct LookCostTests {
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
      let calls = watch.diagnostics.runningCalls
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

    /// The age of a handler is that of its own oldest call, whatever calls of other handlers run.
    @Test func theOldestCallIsThatOfTheHandler() async {
      let (event, other) = (Event<Int>(), Event<Int>())
      let observations = [event, other].map { $0.observe(with: Watch().diagnostics) }
      let (begun, gates) = (Recorder<Int>(), (0..<3).map { _ in Gate() })
      let token = event.addHandler(on: .concurrent(limit: 3)) { (number: Int) async in
        begun.record(number)
        await gates[number].opened()
      }
      func age() async -> Duration? { await event.handlers().first { $0.token == token }?.runningFor }
      #expect(await age() == nil)
      other.addHandler(on: .concurrent(limit: 1)) { (_: Int) async in await gates[2].opened() }
      other.post(0)
      var starts: [ContinuousClock.Instant] = []
      for number in 0..<3 {
        starts.append(.now)
        event.post(number)
        #expect(await eventually { begun.count == number + 1 })
      }
      starts.append(.now)
      func expectOldest(_ number: Int) async {
        let before = ContinuousClock.now
        let age = await age() ?? .zero
        #expect(age >= before - starts[number + 1] && age <= .now - starts[number], "\(age)")
      }
      await expectOldest(0)
      gates[1].open()
      await expectOldest(0)
      gates[0].open()
      while await age() ?? .zero > .now - starts[2] { await Task.yield() }
      await expectOldest(2)
      gates[2].open()
      await event.quiesce()
      #expect(await age() == nil)
      for observation in observations { observation.end() }
    }
  }
#endif
