import Eventing
import Testing

extension SafetyTests {
  // MARK: Payloads

  @Test func payloadWhoseDeinitPostsIsDeliveredLikeAnyOther() async {
    let event = Event<Parting>()
    let (seen, lane) = (Recorder<Int>(), Recorder<Int>())
    event.addHandler { seen.record($0.number) }
    event.addHandler(on: .background) { lane.record($0.number) }
    event.addHandler { _ async in }
    event.addHandler(on: .task) { _ in }
    event.post(Parting(200, event))
    #expect(await eventually { lane.count == 201 })
    #expect(seen.values == Array((0...200).reversed()))
    #expect(lane.values == seen.values)
  }

  @Test func payloadWhoseDeinitPostsMayBeSkippedAndQueued() async {
    let event = Event<Parting>()
    let (inside, gate, seen) = (Gate(), Gate(), Counter())
    let locked = event.addHandler(on: .background) { _ in }
    event.addHandler { payload in
      seen.add()
      if payload.number == 1_000 {
        inside.open()
        gate.wait()
      }
    }
    event.lock(locked)
    let poster = startThread { event.post(Parting(1_000, nil)) }
    await inside.opened()
    for _ in 0..<10 { event.post(Parting(10, event)) }
    gate.open()
    await poster.opened()
    #expect(await eventually { seen.value == 111 })
    await event.quiesce()
  }

  @Test func payloadsWhoseDeinitPostsUnderRacingPostersAreAllDelivered() async {
    let event = Event<Parting>()
    let (inline, lane) = (Counter(), Counter())
    event.addHandler { _ in inline.add() }
    event.addHandler(on: .background) { _ in lane.add() }
    await onThreads(4) { _ in for _ in 0..<500 { event.post(Parting(1, event)) } }
    #expect(await eventually { lane.value == 4_000 })
    #expect(inline.value == 4_000)
  }
}

/// A payload whose `deinit` posts the next payload. The numbers go down to 0.
private final class Parting: Sendable {
  let number: Int
  private let event: Event<Parting>?

  init(_ number: Int, _ event: Event<Parting>?) {
    self.number = number
    self.event = event
  }

  deinit {
    guard let event, number > 0 else { return }
    event.post(Parting(number - 1, event))
  }
}
