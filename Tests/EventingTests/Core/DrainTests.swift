import Eventing
import Testing

/// Tests of guarantees G5, G15 and G20: a thread that finds work enqueued when it leaves the core
/// drains the mailbox.
@Suite(.fewAtATime) struct DrainTests {
  @Test func aPosterMakesSomeChangesOfOtherThreadsAndHandsTheRestOver() async {
    // Without a limit, a poster would drain for ever if another thread added and removed handlers
    // for ever.
    let event = Event<Int>()
    let (inside, gate, closures) = (Gate(), Gate(), LiveCount())
    let releasedBy = Recorder<ThreadNumber>()
    event.once { _ in
      inside.open()
      gate.wait()
    }
    let postersNumber = ConditionLock<ThreadNumber?>(nil)
    let poster = startThread {
      postersNumber.withLock { $0 = .current }
      event.post(1)
    }
    await inside.opened()
    // Each add is enqueued, and its handler is removed before the add is dequeued. The thread that
    // dequeues the add releases the closure.
    for _ in 0..<2_000 {
      let canary = Canary(closures) { releasedBy.record(.current) }
      event.remove(event.addHandler { _ in canary.sing() })
    }
    gate.open()
    await poster.opened()
    await event.quiesce()
    #expect(closures.alive == 0)
    let byPoster = releasedBy.values.count { $0 == postersNumber.withLock { $0 } }
    #expect(byPoster < 1_000)
    #expect(releasedBy.count == 2_000)
  }

  @Test func changesOfABusyEventAreSlowedWhenTooManyWait() async {
    let event = Event<Int>()
    let (inside, gate, took) = (Gate(), Gate(), ConditionLock(Duration.zero))
    event.once { _ in
      inside.open()
      gate.wait()
    }
    let poster = startThread { event.post(1) }
    await inside.opened()
    await startThread {
      for _ in 0..<8_192 { event.addHandler { _ in } }
      let duration = ContinuousClock().measure { for _ in 0..<200 { event.addHandler { _ in } } }
      took.withLock { $0 = duration }
    }.opened()
    #expect(took.withLock { $0 } > .microseconds(10) * 190)
    gate.open()
    await poster.opened()
    #expect(event.handlerCount == 8_392)
  }

  @Test func aHandlerThatChangesItsOwnEventIsNotSlowedAndItsPostsAreDeliveredBeforeItsPosterReturns() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    await startThread {
      event.addHandler { number in
        seen.record(number)
        guard number == 1 else { return }
        let tokens = (0..<20_000).map { _ in event.addHandler { _ in } }
        for token in tokens { event.remove(token) }
        event.post(2)
      }
      event.post(1)
      #expect(seen.values == [1, 2])
    }.opened()
    #expect(event.handlerCount == 1)
  }

  @Test func closuresAreReleasedWhileIsolatedCallsKeepComing() async {
    let event = Event<Int>()
    let (closures, isOver) = (LiveCount(), Gate())
    let tokens = (0..<100).map { _ in
      let canary = Canary(closures)
      return event.addHandler { _ in canary.sing() }
    }
    let lookers = (0..<4).map { _ in
      Task { while !isOver.isOpen { _ = await event.handlers().count } }
    }
    for token in tokens { event.remove(token) }
    #expect(await eventually { closures.alive == 0 })
    isOver.open()
    for looker in lookers { await looker.value }
  }
}
