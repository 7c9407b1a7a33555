import Dispatch
import Testing

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

extension SafetyTests {
  // MARK: Isolated calls

  @Test func anIsolatedCallNeverRunsOnTheThreadThatMakesIt() async {
    // That would be inside `enqueue`, on the stack of whoever calls, who may be on the main queue or hold anything.
    let event = Event<Int>()
    let steps = StepExecutor()
    let (caller, callee) = (Recorder<ThreadNumber>(), Recorder<ThreadNumber>())
    let called = Gate()
    let task = Task(executorPreference: steps) {
      caller.record(.current)
      await event.inside {
        callee.record(.current)
        called.open()
      }
    }
    steps.after { called.wait() }  // the caller's thread lives as long as the call, so nobody else has its number
    await steps.run()
    #expect(caller.count == 1 && callee.count == 1)
    #expect(caller.values != callee.values)
    while await steps.run() {}
    await task.value
  }

  #if DEBUG
    @Test(arguments: [true, false]) func whatIsRemovedDuringAnIsolatedCallIsReleasedOnTheEventsOwnQueue(
      isAddedThere: Bool
    ) async {
      // An isolated call runs in Swift's pool, which must not be held up by what a `deinit` of the user's does.
      let event = Event<Int>()
      let (live, queues, released) = (LiveCount(), Recorder<Bool>(), Gate())
      let add: @Sendable () -> HandlerToken = {
        let canary = Canary(live) {
          queues.record(DispatchQueue.getSpecific(key: OverloadControl.drained) != nil)
          released.open()
        }
        return event.addHandler { _ in canary.sing() }
      }
      let before = isAddedThere ? nil : add()
      await event.inside { event.remove(before ?? add()) }
      await comesBack { await released.opened() }
      #expect(queues.values == [true])
      #expect(event.handlerCount == 0)
    }
  #endif
}

extension Event {
  /// Runs `body` isolated to the event.
  fileprivate func inside(_ body: @Sendable () -> Void) { body() }
}
