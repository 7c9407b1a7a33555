import Dispatch
import Testing

#if DEBUG
  @testable import Eventing
  @testable import EventingDiagnostics

  /// Tests of the timer of diagnostics. The process has one such timer, which runs only while
  /// diagnostics watch something.
  ///
  /// Each test has a process of its own, because the timer belongs to the whole process.
  @Suite(.fewAtATime) struct WatchTimerTests {
    @Test func theTimerTellsOfAStuckCallByItself() async {
      await #expect(processExitsWith: .success) {
        endProcessIfItHangs()
        let (event, begun, gate, told) = (Event<Int>("orders"), Gate(), Gate(), Gate())
        let found = Recorder<EventDiagnostics.Finding>()
        event.observe(
          with: EventDiagnostics(stuckAfter: .milliseconds(50)) { finding in
            found.record(finding)
            told.open()
          })
        event.addHandler(.named("billing")) { (_: Int) async in
          begun.open()
          await gate.opened()
        }
        event.post(1)
        await told.opened()
        precondition(found.values[0].kind == .stuckHandler && found.values[0].handler?.name == "billing")
        precondition(found.values[0].duration.map { $0 >= .milliseconds(50) } == true)
        gate.open()
        await event.quiesce()
      }
    }

    @Test func handlersThatBlockTheWholePoolDoNotStopTheTimer() async {
      await #expect(processExitsWith: .success) {
        endProcessIfItHangs()
        let gate = Gate()
        let diagnostics = EventDiagnostics(stuckAfter: .milliseconds(20)) { _ in gate.open() }
        @Sendable func block() { gate.wait() }
        let events = (0..<256).map { _ in Event<Int>() }
        for event in events {
          event.observe(with: diagnostics)
          event.addHandler { (_: Int) async in block() }
          event.post(1)
        }
        for event in events { await event.quiesce() }
      }
    }

    @Test func nothingIsNotedAfterTheWaits() async {
      await #expect(processExitsWith: .success) {
        let event = Event<Int>()
        let observation = event.observe(with: EventDiagnostics(stuckAfter: .seconds(3_600)) { _ in })
        event.addHandler { (_: Int) async in }
        for number in 0..<100 {
          await event.send(number)
          await event.quiesce()
          _ = await event.submit(number).report
          precondition(WaitingSends.noted == 0)
        }
        observation.end()
        await event.send(100)
        precondition(WaitingSends.noted == 0 && !Instruments.areOn)
      }
    }

    /// The first wait begins before the diagnostics, so `WaitingSends` does not note it. Its
    /// cancellation must not remove the note of the second wait, which is for the same occurrence.
    @Test func aWaitThatWasNotNotedRemovesNoNoteOfAnother() async {
      await #expect(processExitsWith: .success) {
        endProcessIfItHangs()
        let (event, gate) = (Event<Int>(), Gate())
        event.addHandler(on: .background) { (_: Int) in gate.wait() }
        let ticket = event.submit(1)
        let first = Task { await ticket.completion.waitUnlessCancelled() }
        while !ticket.completion.withMutex({ ticket.completion.waiters.count == 1 }) { await Task.yield() }
        let observation = event.observe(with: EventDiagnostics(stuckAfter: .seconds(3_600)) { _ in })
        let second = Task { await ticket.report }
        while WaitingSends.noted == 0 { await Task.yield() }
        first.cancel()
        let isDone = await first.value
        precondition(!isDone && WaitingSends.noted == 1)
        gate.open()
        _ = await second.value
        precondition(WaitingSends.noted == 0)
        observation.end()
      }
    }

    @Test func thereIsOneTimerAndNoneWithoutAWatcher() async {
      await #expect(processExitsWith: .success) {
        func expect(_ watchers: Int) {
          let status = WatchTimer.shared.status
          // The timer checks three times within 1.5 times the limit.
          let intervals = (0..<watchers).map { _ in Duration.seconds(1_800) }
          precondition(status.intervals == intervals && status.isRunning == (watchers > 0), "\(status)")
        }
        func diagnostics() -> EventDiagnostics { EventDiagnostics(stuckAfter: .seconds(3_600)) { _ in } }
        expect(0)
        let (first, second, event) = (diagnostics(), diagnostics(), Event<Int>())
        expect(0)
        let observations = [event.observe(with: first), first.observeNewEvents(), event.observe(with: second)]
        expect(2)
        for observation in observations {
          observation.end()
          observation.end()
        }
        expect(0)
        event.observe(with: EventDiagnostics(slowerThan: .seconds(1)) { _ in })
        event.observe(with: EventDiagnostics(stuckAfter: .seconds(Int64.max)) { _ in })
        expect(0)
        var short: Event<Int>? = Event()
        short?.addHandler { _ in }
        short?.observe(with: first)
        expect(1)
        short = nil
        expect(0)
      }
    }

    @Test func observationsThatBeginAndEndOnManyThreadsLeaveNoTimer() async {
      await #expect(processExitsWith: .success) {
        endProcessIfItHangs()
        let (event, diagnostics) = (Event<Int>(), EventDiagnostics(stuckAfter: .milliseconds(1)) { _ in })
        event.addHandler { _ in }
        await onThreads(4) { _ in
          for number in 0..<2_000 {
            let observation = event.observe(with: diagnostics)
            event.post(number)
            observation.end()
          }
        }
        precondition(WatchTimer.shared.status == ([], false))
      }
    }
  }
#endif
