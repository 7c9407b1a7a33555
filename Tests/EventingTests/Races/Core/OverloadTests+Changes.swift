import Testing

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

// Tests of guarantees G15 and G22: the number of waiting changes is bounded, like the number of
// waiting occurrences.
extension OverloadTests {
  struct Nothing: EventObserver { func observe(_ step: EventStep) {} }

  @Test func observationsThatComeAndGoBesidePostsLeaveMemoryBounded() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (event, observing, most) = (Event<Int>(), Countdown(2), ConditionLock(0))
      event.addHandler { _ in }
      let over = Gate()
      let watcher = startThread {
        observing.wait()
        over.open()
      }
      let before = heapInUse()
      await onThreads(3) { index in
        if index > 0 {
          for _ in 0..<Self.rounds { event.observe(with: Nothing()).end() }
          observing.arrive()
        } else {
          var posts = 0
          while !over.isOpen {
            event.post(1)
            posts += 1
            guard posts % 64 == 0 else { continue }
            let heap = heapInUse()
            most.withLock { $0 = max($0, heap) }
          }
        }
      }
      await watcher.opened()
      let growth = most.withLock { $0 } - before
      #expect(growth < 4_000_000, "\(growth) bytes at most")
    }
  }

  #if DEBUG
    /// The changes that a busy event enqueues and makes when it drains its queue.
    enum Repeated: CaseIterable, Sendable {
      case observe, unlockEvent, unlockHandler, finish

      func make(on event: Event<Int>, _ token: HandlerToken) {
        switch self {
        case .observe: event.observe(with: Nothing()).end()
        case .unlockEvent:
          event.lock(holding: .latest)
          event.unlock()
        case .unlockHandler:
          event.lock(token, holding: .latest)
          event.unlock(token)
        case .finish: event.finish()
        }
      }
    }

    /// Checks that the queue stays short, or that the thread that makes the changes sleeps after
    /// each change above the limit, as a poster does after a post.
    ///
    /// While a handler blocks, the queue cannot be drained. So one of the two must happen.
    @Test(arguments: Repeated.allCases) func changesBehindAHandlerThatBlocksAreSlowedDownOrTakeNoRoom(change: Repeated)
      async
    {
      let (event, found) = (Event<Int>(), ConditionLock((sleeps: 0, waiting: 0)))
      let token = event.addHandler { _ in }
      await whileBusy(event) {
        let over = startThread {
          let before = sleepsOfThisThread()
          for _ in 0..<6_000 { change.make(on: event, token) }
          let sleeps = sleepsOfThisThread() - before
          let waiting = event.core.mutex.withLock { event.core.rareState.mailbox.items.count }
          found.withLock { $0 = (sleeps, waiting) }
        }
        func block(_ wait: () -> Void) { wait() }
        block { over.wait() }
      }
      let (sleeps, waiting) = found.withLock { $0 }
      #expect(waiting < 2_100 || sleeps > (waiting - 2_100) / 4, "\(waiting) wait after \(sleeps) sleeps")
      await event.quiesce()
    }
  #endif

  @Test func aPosterHandsTheChangesOfOtherThreadsOverAfterSome() async {
    /// An observer that records the threads on which an event calls `added`. The event of this test
    /// has one handler. For each new observation, the event calls `added` once, with this handler.
    final class Where: EventObserver {
      let threads = Recorder<ThreadNumber>()
      func observe(_ step: EventStep) { if step.kind == .added { threads.record(.current) } }
    }
    let (event, watcher, poster) = (Event<Int>(), Where(), ConditionLock<ThreadNumber?>(nil))
    let (isInside, mayLeave) = (Gate(), Gate())
    event.addHandler { number in
      guard number == 0 else { return }
      isInside.open()
      mayLeave.wait()
    }
    let posting = startThread {
      poster.withLock { $0 = .current }
      event.post(0)
    }
    await isInside.opened()
    await onThread { for _ in 0..<1_500 { event.observe(with: watcher) } }
    mayLeave.open()
    await posting.opened()
    await event.quiesce()
    #expect(watcher.threads.count == 1_500)
    let own = poster.withLock { $0 }
    #expect(watcher.threads.values.count { $0 == own } <= 512)
  }

  private static let rounds: Int = {
    #if DEBUG
      40_000
    #else
      200_000
    #endif
  }()
}
