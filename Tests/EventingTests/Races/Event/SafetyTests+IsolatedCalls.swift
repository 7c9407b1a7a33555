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
    // If the isolated call ran on the thread of its caller, it would run inside `enqueue`, on the
    // caller's stack. The caller may be on the main queue, or may hold any mutex.
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
    steps.after { called.wait() }  // keeps the caller's thread alive, so that no other thread gets its identity
    await steps.run()
    #expect(caller.count == 1 && callee.count == 1)
    #expect(caller.values != callee.values)
    while await steps.run() {}
    await task.value
  }

  #if DEBUG
    @Test(arguments: [true, false]) func aHandlerRemovedDuringAnIsolatedCallIsReleasedOnTheEventsOwnQueue(
      isAddedThere: Bool
    ) async {
      // An isolated call runs in Swift's pool. A user's `deinit` must not block a thread of that
      // pool.
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
