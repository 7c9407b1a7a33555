import Eventing
import Testing

/// Tests of guarantees G20 and G22: one thread looks objects up while another thread releases them.
///
/// A use after free crashes the process, so each test has a process of its own.
@Suite(.serialized, .fewAtATime) struct LifetimeRaceTests {
  struct Two: Sendable {
    let first, second: Canary
    init(_ live: LiveCount) { (first, second) = (Canary(live), Canary(live)) }
  }
  struct Three: Sendable {
    let first, second, third: Canary
    init(_ live: LiveCount) { (first, second, third) = (Canary(live), Canary(live), Canary(live)) }
  }
  enum Local {
    @TaskLocal static var number = 0
    @TaskLocal static var canary: Canary?
  }

  @Test func aBusThatIsFinishedBesideItsPostsLeavesNothing() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (bus, live) = (EventBus(), LiveCount())
      await race([{ _ in bus.finish() }, { _ in bus.post(Two(live)) }, { _ in bus.post(Two(live)) }])
      await race([{ _ in bus.finish() }, { _ in bus.post(Three(live)) }, { _ in bus.post(Two(live)) }])
      bus.finish()
      #expect(await eventually { live.alive == 0 })
    }
  }

  @Test func theEventOfAnOwnerThatIsRemovedBesideItsPostsLeavesNothing() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (bus, live, key) = (EventBus(), LiveCount(), EventKey<Two>("two"))
      let owner = Plain()
      let post: @Sendable (Int) -> Void = { _ in try? bus.event(key, of: owner).post(Two(live)) }
      await race([{ _ in bus.removeEvent(key, of: owner) }, post, { _ in _ = bus.events(of: owner) }])
      #expect(await eventually { live.alive == 0 })
    }
  }

  @Test func aValueThatIsCarriedNoMoreBesidePostsToALaneLeavesNothing() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (event, live) = (Event<Three>(), LiveCount())
      let token = event.addHandler(.buffering(.newest(4)), on: .background) { $0.first.sing() }
      let post: @Sendable (Int) -> Void = { _ in event.post(Three(live)) }
      await race(for: .milliseconds(1_000), [{ _ in EventContext.propagate(Local.$number).end() }, post, post])
      await Local.$canary.withValue(Canary(live)) {
        await onThreads(1) { _ in }
        await race([{ _ in EventContext.propagate(Local.$canary).end() }, post])
      }
      event.remove(token)
      await event.quiesce()
      #expect(await eventually { live.alive == 0 })
    }
  }

  @Test func anObservationOfNewEventsThatEndsBesideThemLeavesNothing() async {
    final class Watcher: EventObserver {
      let canary: Canary
      init(_ live: LiveCount) { canary = Canary(live) }
      func observe(_ step: EventStep) { if step.kind == .added { canary.sing() } }
    }
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let live = LiveCount()
      let make: @Sendable (Int) -> Void = { _ in
        let canary = Canary(live)
        let event = Event<Int>()
        event.addHandler { _ in canary.sing() }
      }
      await race([{ _ in Watcher(live).observeNewEvents().end() }, make, make])
      let watcher = Watcher(live)
      await race([{ _ in watcher.observeNewEvents().end() }, make])
      withExtendedLifetime(watcher) {}
      #expect(await eventually { live.alive <= 1 })
    }
  }

  @Test func aBagThatIsEmptiedBesideItsInsertionsLeavesNothing() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (event, bag, live) = (Event<Int>(), HandlerBag(), LiveCount())
      let insert: @Sendable (Int) -> Void = { _ in
        let canary = Canary(live)
        event.addHandler { _ in canary.sing() }.store(in: bag)
      }
      await race([{ _ in bag.removeAll() }, insert, insert])
      bag.removeAll()
      await event.quiesce()
      #expect(live.alive == 0 && event.handlerCount == 0)
    }
  }

  @Test func iteratorsThatComeAndGoBesidePostsLeaveNothing() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (two, three, live) = (Event<Two>(), Event<Three>(), LiveCount())
      await race([
        { _ in
          let payloads = two.filter { _ in true }.payloads()
          for _ in 0..<4 { _ = payloads.makeAsyncIterator() }
        },
        { _ in
          let payloads = three.payloads(buffering: .newest(4))
          for _ in 0..<4 { _ = payloads.makeAsyncIterator() }
        },
        { _ in
          two.post(Two(live))
          three.post(Three(live))
        },
      ])
      await two.quiesce()
      await three.quiesce()
      #expect(live.alive == 0)
    }
  }

  @Test func payloadsThatAreTakenBesidePostsLeaveNothing() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (event, live) = (Event<Two>(), LiveCount())
      let loops = [Buffering.unbounded, .newest(16)].map { buffering in
        Task {
          var isOver = false
          while !isOver {
            isOver = true
            var taken = 0
            for await payload in event.filter({ _ in true }).payloads(buffering: buffering) {
              payload.first.sing()
              taken += 1
              if taken == 100 {
                isOver = false
                break
              }
            }
          }
        }
      }
      let post: @Sendable (Int) -> Void = { _ in
        let payload = Two(live)
        event.post(payload)
        payload.second.sing()
      }
      await race([post, post])
      event.finish()
      for loop in loops { await loop.value }
      #expect(await eventually { live.alive == 0 })
    }
  }
}
