import Testing

@testable import Eventing

/// Tests of ended calls that the lane of a `.task` handler keeps: a later call takes their memory,
/// invocation and execution slot.
@Suite(.fewAtATime) struct TaskReuseTests {
  @Test func callsInARowShareAnExecutionSlot() async {
    let event = Event<Int>()
    let slots = Recorder<ExecutionSlot>()  // retains each slot, so that no later slot gets its address
    event.addHandler(on: .task) { _ in
      await Task.yield()
      if let invocation = Context.invocation.get() { slots.record(invocation.executionSlot) }
    }
    for number in 0..<100 { await event.send(number) }
    #expect(slots.values.count == 100)
    #if !EVENTING_DOCUMENTED_ONLY
      #expect(Set(slots.values.map(ObjectIdentifier.init)).count < 100)
    #endif
  }

  @Test func aCallThatLeavesATaskBehindIsNotUsedAgain() async {
    let event = Event<Int>()
    let (inside, gate, leftover) = (Gate(), Gate(), Recorder<Task<Bool, Never>>())
    event.addHandler(on: .task) { number in
      if number == 1 {
        leftover.record(
          Task {
            await inside.opened()
            return Invocation.current == nil  // this task belongs to call 1, which is over, not to call 2
          })
      } else {
        inside.open()
        await gate.opened()
      }
    }
    event.post(1)
    await event.quiesce()
    event.post(2)
    #expect(await leftover.values.first?.value == true)
    gate.open()
    await event.quiesce()
  }

  @Test func thePayloadOfAnEndedCallIsGone() async {
    let event = Event<Recorder<Int>>()
    event.addHandler(on: .task) { $0.record(1) }
    for _ in 0..<3 { #expect(await losesItsPayload(event)) }
  }

  @Test func aCallThatIsUsedAgainHasThePayloadOfItsOccurrence() async {
    let event = Event<[Int]>()
    let seen = Recorder<Int>()
    event.addHandler(on: .task) { seen.record($0[0]) }
    for number in 0..<200 {
      event.post([number])
      if number % 20 == 0 { await event.quiesce() }
    }
    await event.quiesce()
    #expect(seen.values.sorted() == Array(0..<200))
  }
}
