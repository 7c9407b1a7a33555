import Eventing
import Testing

extension OrderTests {
  // MARK: G5

  @Test func postToAnIdleEventDeliversOnTheCallingThreadBeforeItReturns() {
    let event = Event<Int>()
    let seen = Recorder<ThreadNumber>()
    event.addHandler { _ in seen.record(.current) }
    event.post(1)
    #expect(seen.values == [.current])
  }

  @Test func submitToAnIdleEventDeliversOnTheCallingThreadBeforeItReturns() {
    let event = Event<Int>()
    let seen = Recorder<ThreadNumber>()
    event.addHandler { _ in seen.record(.current) }
    _ = event.submit(1)
    #expect(seen.values == [.current])
  }

  @Test func sendToAnIdleEventDeliversOnTheCallingTask() async {
    let event = Event<Int>()
    let seen = Recorder<ThreadNumber>()
    event.addHandler { _ in seen.record(.current) }
    let here = ThreadNumber.current
    await event.send(1)
    #expect(seen.values == [here])
  }

  @Test func postToABusyEventReturnsBeforeItIsDelivered() async {
    let event = Event<Int>()
    let seen = Recorder<Int>()
    let (isInside, mayLeave) = (Gate(), Gate())
    event.addHandler { value in
      seen.record(value)
      if value == 1 {
        isInside.open()
        mayLeave.wait()
      }
    }
    let poster = startThread { event.post(1) }
    await isInside.opened()
    event.post(2)
    #expect(seen.values == [1])
    mayLeave.open()
    await poster.opened()
    await event.quiesce()
    #expect(seen.values == [1, 2])
  }

  @Test func aPosterNeverDeliversAnothersOccurrence() async {
    let event = Event<Int>()
    let seen = Recorder<Delivered>()
    let (isInside, mayLeave, mayEnd) = (Gate(), Gate(), Gate())
    event.addHandler { value in
      seen.record(Delivered(value, .current))
      if value == 1 {
        isInside.open()
        mayLeave.wait()
      }
    }
    let poster = startThread {
      event.post(1)
      mayEnd.wait()  // keeps the thread alive, so that no other thread gets its identity
    }
    await isInside.opened()
    event.post(2)
    mayLeave.open()
    await event.quiesce()
    mayEnd.open()
    await poster.opened()
    #expect(seen.values.map(\.value) == [1, 2])
    #expect(Set(seen.values.map(\.thread)).count == 2)
  }

  @Test func aPosterDeliversThePostsOfItsOwnHandlersBeforeItReturns() async {
    let event = Event<Int>()
    let seen = Recorder<Delivered>()
    event.addHandler { [weak event] value in
      seen.record(Delivered(value, .current))
      if value < 3 { event?.post(value + 1) }
    }
    await startThread {
      event.post(1)
      #expect(seen.values.map(\.value) == [1, 2, 3])
      #expect(seen.values.allSatisfy { $0.thread == .current })
    }.opened()
  }

  @Test func aPosterDeliversItsOwnOccurrencesUpToTheFirstOfAnotherThread() async {
    let event = Event<Int>()
    let seen = Recorder<Delivered>()
    let (isInside, isQueued, mayDrain) = (Gate(), Gate(), Gate())
    event.addHandler { [weak event] value in
      seen.record(Delivered(value, .current))
      switch value {
      case 1:
        event?.post(2)
        isInside.open()
        isQueued.wait()
        event?.post(4)
      case 3: mayDrain.wait()
      default: break
      }
    }
    let poster = startThread {
      event.post(1)
      #expect(seen.values.map(\.value).prefix(2) == [1, 2])
      #expect(seen.values.prefix(2).allSatisfy { $0.thread == .current })
      #expect(!seen.values.dropFirst(2).contains { $0.thread == .current })
    }
    await isInside.opened()
    event.post(3)
    isQueued.open()
    await poster.opened()
    mayDrain.open()
    await event.quiesce()
    #expect(seen.values.map(\.value) == [1, 2, 3, 4])
  }
}

private struct Delivered: Sendable {
  let value: Int
  let thread: ThreadNumber
  init(_ value: Int, _ thread: ThreadNumber) { (self.value, self.thread) = (value, thread) }
}
