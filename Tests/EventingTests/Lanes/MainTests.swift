import Dispatch
import Eventing
import Testing

/// Tests of guarantee G14: handlers on the main actor.
@Suite(.fewAtATime) struct MainTests {
  // MARK: At once

  @MainActor @Test func handlerIsCalledAtOnceOnTheMainActor() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler(on: .main) { seen.record($0) }
    event.post(1)
    #expect(seen.values == [1])
    await Task.yield()
    event.post(2)  // on Linux the main actor may have moved to another thread
    #expect(seen.values == [1, 2])
  }

  @Test func handlerIsCalledAtOnceInABlockOnTheMainQueue() async {
    let event = Event<Int>()
    let (seen, atReturn) = (Recorder<Int>(), Recorder<[Int]>())
    event.addHandler(on: .main) { seen.record($0) }
    await withCheckedContinuation { continuation in
      DispatchQueue.main.async {
        event.post(1)
        atReturn.record(seen.values)
        continuation.resume()
      }
    }
    #expect(atReturn.values == [[1]])
  }

  @MainActor @Test func sendOnTheMainActorCallsAtOnceWithoutLettingOthersIn() async {
    let event = Event<Int>()
    let order = Recorder<String>()
    event.addHandler(on: .main) { order.record("handler \($0)") }
    let other = Task { @MainActor in order.record("other") }
    let report = await event.send(1)
    order.record("returned")
    #expect(report.delivered == 1)
    await other.value
    #expect(order.values == ["handler 1", "returned", "other"])
  }

  @MainActor @Test func handlersThatAreCalledAtOnceKeepTheirPlaceAmongTheInlineOnes() async {
    let event = Event<Int>()
    let order = Recorder<String>()
    event.addHandler { _ in order.record("inline") }
    event.addHandler(on: .main) { _ in order.record("main") }
    event.addHandler { _ in order.record("inline too") }
    event.addHandler(.priority(1), on: .main) { _ in order.record("main before") }
    event.post(1)
    #expect(order.values == ["main before", "inline", "main", "inline too"])
  }

  // MARK: In order on the main queue

  @MainActor @Test func handlerIsQueuedWithoutBlockingWhenItIsDeliveredElsewhere() async {
    let event = Event<Int>()
    let (seen, atReturn, returned) = (Recorder<Int>(), Recorder<[Int]>(), Gate())
    event.addHandler(on: .main) { number in
      MainActor.preconditionIsolated()
      dispatchPrecondition(condition: .onQueue(.main))
      seen.record(number)
    }
    // This test blocks the main actor until all posts have returned.
    startThread {
      for number in 0..<100 { event.post(number) }
      atReturn.record(seen.values)
      returned.open()
    }
    wait(for: returned)
    #expect(atReturn.values == [[]])
    await event.quiesce()
    #expect(seen.values == Array(0..<100))
  }

  @MainActor @Test func handlerIsNotCalledAtOncePastItsQueuedCalls() async {
    let event = Event<Int>()
    let (seen, returned) = (Recorder<Int>(), Gate())
    event.addHandler(on: .main) { seen.record($0) }
    startThread {
      event.post(1)
      returned.open()
    }
    wait(for: returned)
    event.post(2)
    #expect(seen.values == [])
    await event.quiesce()
    #expect(seen.values == [1, 2])
    event.post(3)
    #expect(seen.values == [1, 2, 3])
  }

  @Test func handlerIsNotEnteredAgainWhileACallOfItIsRunning() async {
    let event = Event<Int>()
    let order = Recorder<String>()
    event.addHandler(on: .main) { number in
      order.record("begin \(number)")
      if number < 3 { event.post(number + 1) }
      order.record("end \(number)")
    }
    await startThread { event.post(1) }.opened()
    #expect(await eventually { order.count == 6 })
    #expect(order.values == ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"])
  }

  @MainActor @Test func handlerThatPostsOnTheMainActorIsNotEnteredAgain() async {
    let (first, second) = (Event<Int>(), Event<Int>())
    let order = Recorder<String>()
    first.addHandler(on: .main) { number in
      order.record("begin \(number)")
      if number < 3 { second.post(number) }
      order.record("end \(number)")
    }
    second.addHandler(on: .main) { number in first.post(number + 1) }
    first.post(1)
    await first.quiesce()
    await second.quiesce()
    await first.quiesce()
    #expect(order.values == ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"])
  }

  @Test func postsOfManyThreadsAndOfTheMainActorKeepOneOrder() async {
    let event = Event<Int>()
    let (inline, main) = (Recorder<Int>(), Recorder<Int>())
    event.addHandler { inline.record($0) }
    event.addHandler(on: .main) { main.record($0) }
    let onMain = Task { @MainActor in
      for number in 0..<1_000 {
        event.post(number)
        if number.isMultiple(of: 10) { await Task.yield() }
      }
    }
    await onThreads(2) { thread in for number in 0..<1_000 { event.post((thread + 1) * 1_000 + number) } }
    await onMain.value
    await event.quiesce()
    #expect(main.count == 3_000)
    #expect(main.values == inline.values)
  }

  // MARK: Asynchronous

  @MainActor @Test func asynchronousHandlerIsNeverCalledAtOnce() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    event.addHandler(on: .main) { number in
      seen.record(number)
      await Task.yield()
    }
    event.post(1)
    event.post(2)
    #expect(seen.values == [])
    await event.quiesce()
    #expect(seen.values == [1, 2])
  }

  @Test func asynchronousHandlerIsOnTheMainActorBeforeAndAfterItsSuspensions() async {
    let event = Event<Int>()
    let view = View()
    let calls = Counter()
    event.addHandler(on: .main) { number in
      MainActor.preconditionIsolated()
      view.number = number
      await Task.yield()
      MainActor.preconditionIsolated()
      view.number += 1
      calls.add()
    }
    for number in 0..<300 { event.post(number) }
    await event.send(300)
    #expect(calls.value == 301)
    #expect(await view.number == 301)
  }

  @MainActor @Test func suspendedCallLetsTheMainActorGo() async {
    let event = Event<Int>()
    let (began, gate) = (Gate(), Gate())
    event.addHandler(on: .main) { _ in
      began.open()
      await gate.opened()
    }
    event.post(1)
    await began.opened()  // this test resumes on the main actor, although the handler is suspended there
    gate.open()
    await event.quiesce()
  }
}

@MainActor private final class View {
  var number = 0
}

/// Blocks the main actor until the gate is open. Work that opens the gate must not need that actor.
@MainActor private func wait(for gate: Gate) {
  func block(_ wait: () -> Void) { wait() }
  block { gate.wait() }
}
