import Synchronization
import Testing

@testable import Eventing

/// Tests of guarantees G20 and G24: no mutex is held while user code runs, so user code may call
/// anything. Invalid counts are clamped.
@Suite(.fewAtATime) struct SafetyTests {
  // MARK: Any call inside a handler

  @Test(arguments: AnyCall.allCases) func handlerMayCallAnythingOfItsOwnEvent(call: AnyCall) async {
    for kind in SerialKind.allCases {
      let event = Event<Int>()
      let done = Counter()
      add(kind, to: event, named: "own") { number in
        guard number == 1 else { return }
        call.make(on: event)
        done.add()
      }
      event.addHandler { _ in }
      await comesBack { await event.send(1) }
      #expect(done.value == 1)
      await comesBack { await event.quiesce() }
    }
  }

  @Test(arguments: AnyCall.allCases) func inlineHandlerMayCallAnythingOfItsOwnEvent(call: AnyCall) async {
    let event = Event<Int>()
    let done = Counter()
    for _ in 0..<3 {
      event.addHandler(.named("own")) { number in
        guard number == 1 else { return }
        call.make(on: event)
        done.add()
      }
    }
    await comesBack { await event.send(1) }
    #expect(done.value >= 1)
    await comesBack { await event.quiesce() }
    // Checks that the event still delivers.
    event.unlock()
    let seen = Counter()
    let token = event.addHandler { _ in seen.add() }
    await comesBack { await event.send(2) }
    #expect(seen.value == (call == .finish ? 0 : 1))
    #expect(event.contains(token) == (call != .finish))
  }

  @Test(arguments: AnyCall.allCases) func handlersOfTwoEventsMayCallAnythingOfEachOther(call: AnyCall) async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let done = Counter()
    first.addHandler(.named("own")) { number in
      guard number == 1 else { return }
      call.make(on: second)
      done.add()
    }
    second.addHandler(.named("own")) { number in
      guard number == 1 else { return }
      call.make(on: first)
      done.add()
    }
    await onThreads(2) { thread in
      for _ in 0..<50 { (thread == 0 ? first : second).post(1) }
    }
    await comesBack {
      await first.quiesce()
      await second.quiesce()
    }
    #expect(done.value >= 1)
  }

  @Test(arguments: SerialKind.asynchronous) func asynchronousHandlerMayAwaitAnythingOfItsOwnEvent(kind: SerialKind)
    async
  {
    let event = Event<Int>("own")
    let done = Counter()
    add(kind, to: event, named: "own") { _ in
    } later: { number in
      guard number == 1 else { return }
      await event.send(2)
      _ = await event.submit(3).report
      _ = await event.handlers()
      _ = await event.handlers().filter(\.isLocked)
      _ = await event.handlers().filter({ !$0.isLocked })
      await event.quiesce()
      await event.withHandler(Handler { _ in }) { _ = await event.send(4) }
      let token = event.addHandler { _ in }
      await event.withLocked(token) { _ = await event.send(5) }
      done.add()
    }
    await comesBack { await event.send(1) }
    #expect(done.value == 1)
  }

  // MARK: Any call inside a deinit

  @Test(arguments: AnyCall.allCases) func deinitOfACaptureMayCallAnything(call: AnyCall) async {
    for kind in [nil] + SerialKind.allCases.map(Optional.some) {
      for ending in Ending.allCases {
        let event = Event<Int>("own")
        let live = LiveCount()
        let token: HandlerToken
        do {  // after this scope only the handler retains the canary
          let canary = Canary(live) { call.make(on: event) }
          let body: @Sendable (Int) -> Void = { _ in canary.sing() }
          let isOnce = ending == .usedUp
          token =
            kind.map { add($0, to: event, named: "ends", once: isOnce, body) }
            ?? event.addHandler(.named("ends"), isOnce ? .once : .options(), perform: body)
        }
        event.addHandler(.named("other")) { _ in }
        ending.end(token, of: event)
        await comesBack { await event.quiesce() }
        // A lane that ends releases its closure shortly afterwards.
        #expect(await eventually { live.alive == 0 })
        await comesBack { await event.quiesce() }
      }
    }
  }

  @Test func deinitOfACaptureMayCallAnythingWhenItsEventIsReleased() async {
    for kind in [nil] + SerialKind.allCases.map(Optional.some) {
      for call in AnyCall.allCases {
        let live = LiveCount()
        let other = Event<Int>("own")
        do {
          let event = Event<Int>()
          do {
            let canary = Canary(live) { call.make(on: other) }
            let body: @Sendable (Int) -> Void = { _ in canary.sing() }
            if let kind { add(kind, to: event, body) } else { event.addHandler(perform: body) }
          }
          event.post(1)
        }
        #expect(await eventually { live.alive == 0 })
        await comesBack { await other.quiesce() }
      }
    }
  }

  @Test func deinitOfAnOwnerMayCallAnythingOnTheThreadThatDelivers() async {
    for call in AnyCall.allCases {
      let event = Event<Int>("own")
      let live = LiveCount()
      let holder = ConditionLock<Canary?>(Canary(live) { call.make(on: event) })
      if let owner = holder.withLock({ $0 }) {
        event.addHandler(owner: owner) { _, _ in holder.withLock { $0 = nil } }  // now only the call retains it
      }
      await comesBack { await event.send(1) }
      #expect(live.alive == 0)
      await comesBack { await event.quiesce() }
    }
  }

  // MARK: A handler that blocks

  @Test func handlerThatBlocksDelaysNoPoster() async {
    let event = Event<Int>()
    let (inside, gate, seen) = (Gate(), Gate(), Recorder<Int>())
    event.addHandler { number in
      if number == -1 {
        inside.open()
        gate.wait()
      }
      seen.record(number)
    }
    let blocked = startThread { event.post(-1) }
    await inside.opened()
    await onThreads(4) { thread in
      for number in 0..<100 { event.post(thread * 100 + number) }
      let token = event.addHandler { _ in }
      _ = event.lock(token)
      _ = event.handlerCount
      event.remove(token)
    }
    #expect(seen.count == 0)
    gate.open()
    await blocked.opened()
    await comesBack { await event.quiesce() }
    #expect(seen.count == 401)
    for thread in 0..<4 {
      #expect(seen.values.filter { $0 >= 0 && $0 / 100 == thread } == (thread * 100..<(thread + 1) * 100).map { $0 })
    }
  }

  @Test func handlersThatBlockOnManyEventsDelayNoOtherEvent() async {
    // Each handler blocks its event's own queue. If these queues shared few threads, the last
    // handler would not begin.
    let (gate, began) = (Gate(), Countdown(16))
    let events = (0..<16).map { _ in Event<Int>() }
    for event in events {
      let (inside, leave) = (Gate(), Gate())
      event.addHandler { number in
        if number == 1 {
          inside.open()
          leave.wait()
        } else {
          began.arrive()
          gate.wait()
        }
      }
      let poster = startThread { event.post(1) }
      await inside.opened()
      event.post(2)
      leave.open()
      await poster.opened()
    }
    await began.opened()
    let free = Event<Int>()
    free.addHandler(on: .background) { _ in }
    free.addHandler { _ async in }
    #expect(await comesBack { await free.send(1) }?.delivered == 2)
    gate.open()
    await comesBack { for event in events { await event.quiesce() } }
  }

  // MARK: Two events that post to each other

  @Test func twoEventsThatPostToEachOtherUseConstantStack() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let (stack, count) = (StackProbe(), Counter())
    first.addHandler { number in
      stack.look()
      count.add()
      if number > 0 { second.post(number - 1) }
    }
    second.addHandler { number in
      count.add()
      if number > 0 { first.post(number - 1) }
    }
    await startThread { first.post(100_000) }.opened()
    #expect(await eventually { count.value == 100_001 })
    #expect(stack.depth < 20_000)
  }

  @Test func postsOfSeveralThreadsThroughARingOfEventsComeToAnEnd() async {
    let events = (0..<3).map { _ in Event<Int>() }
    let count = Counter()
    for index in 0..<3 {
      events[index].addHandler { number in
        count.add()
        if number > 0 { events[(index + 1) % 3].post(number - 1) }
      }
    }
    await onThreads(3) { thread in for _ in 0..<200 { events[thread].post(20) } }
    #expect(await eventually { count.value == 600 * 21 })
  }

  // MARK: Calls without effect

  /// Checks that each post of one async function enters the event as the thread on which it runs.
  ///
  /// An optimizer that takes a thread's number for constant reads it once in a loop. Then the event
  /// may take a thread for the one inside, and let it change the table beside a delivery.
  @Test func aPostAfterAnAwaitIsThatOfItsOwnThread() async {
    let (event, gate, steps) = (Event<Int>(), Gate(), StepExecutor())
    let (inside, threads) = (Recorder<Bool>(), Recorder<UInt>())
    let core = event.core
    event.addHandler { _ in
      threads.record(Thread.current)
      inside.record(core.stateWord.load(ordering: .relaxed) & ~CoreState.flags == Thread.current)
    }
    let task = Task(executorPreference: steps) {
      for number in 1...2 {
        event.post(number)
        if number == 1 { await gate.opened() }
      }
    }
    // Both threads live until the end, so that they have two numbers.
    await startThread {
      steps.runHere()
      gate.open()
      while threads.count < 2 { steps.runWhileThisIsHeld() }
    }.opened()
    await task.value
    #expect(inside.values == [true, true] && threads.values[0] != threads.values[1])
  }

  @Test func bulkVerbsOfNothingDoNothing() {
    let event = Event<Int>()
    #expect(event.removeAll(where: .oneOf([HandlerToken]())) == 0)
    #expect(event.removeAll(where: .named()) == 0)
    #expect(event.lockAll(where: .named("nobody")) == 0)
    #expect(event.unlockAll(where: .tagged("nothing")) == 0)
    #expect(event.removeAll() == 0)
    #expect(event.lockAll() == 0)
    #expect(event.add(contentsOf: []) == [])
    #expect(event.handlerCount == 0)
  }

  @Test func extremePrioritiesAreInOrder() async {
    let event = Event<Int>()
    let order = Recorder<Int>()
    for priority in [0, .min, .max, -1, 1, .min + 1, .max - 1] {
      event.addHandler(.priority(priority)) { _ in order.record(priority) }
    }
    event.post(1)
    #expect(order.values == [.max, .max - 1, 1, 0, -1, .min + 1, .min])
  }

  @Test func payloadsOfEveryShapeArriveAsTheyWere() async {
    let optional = Event<Int?>()
    let list = Event<[Int]>()
    let any = Event<any Sendable>()
    let tuple = Event<(first: Int, second: String)>()
    let seen = Recorder<String>()
    optional.addHandler { seen.record("\(String(describing: $0))") }
    list.addHandler(on: .background) { seen.record("\($0)") }
    any.addHandler { payload async in seen.record("\(payload)") }
    tuple.addHandler { first, second in seen.record("\(first) \(second)") }
    await optional.send(nil)
    await optional.send(3)
    await list.send([])
    await list.send([1, 2])
    await any.send("text")
    await tuple.send((first: 1, second: "two"))
    #expect(seen.values == ["nil", "Optional(3)", "[]", "[1, 2]", "text", "1 two"])
  }
}
