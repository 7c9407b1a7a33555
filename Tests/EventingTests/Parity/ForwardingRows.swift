import Eventing
import Testing

/// Tests of features 93 to 98 of AFFEvent, IKEvents and emitter-kit: forwarding.
@Suite(.fewAtATime) struct ForwardingRows {
  let first = Event<Int>("first")
  let second = Event<Int>("second")
  let third = Event<Int>("third")
  let seen = Recorder<String>()

  init() {
    for event in [first, second, third] {
      event.addHandler { [seen, name = event.name ?? ""] number in seen.record("\(name) \(number)") }
    }
  }

  @Test("93: an event forwards to another")
  func anEventForwardsToAnother() {
    first.forward(to: second)
    first.post(1)
    second.post(2)
    #expect(seen.values == ["first 1", "second 1", "second 2"])
  }

  @Test("94: a forward is stopped by its token")
  func aForwardIsStoppedByItsToken() {
    let link = first.forward(to: second)
    first.forward(to: third)
    #expect(first.remove(link))
    first.post(1)
    #expect(seen.values == ["first 1", "third 1"])
  }

  @Test("94: all forwards to an event are stopped")
  func allForwardsToAnEventAreStopped() {
    first.forward(to: second)
    first.compactMap { 10 * $0 }.forward(to: second)
    first.forward(to: third)
    #expect(first.removeAll(where: .forwarding(to: second)) == 2)
    #expect(first.removeAll(where: .forwarding(to: second)) == 0)
    first.post(1)
    #expect(seen.values == ["first 1", "third 1"])
  }

  @Test("95: a forward transforms and filters")
  func aForwardTransformsAndFilters() async {
    let words = Event<String>()
    words.addHandler { [seen] word in seen.record(word) }
    first.compactMap { number in number > 0 ? "number \(number)" : nil }.forward(to: words)
    #expect(await first.send(1).delivered == 2)
    #expect(await first.send(-1).skipped == 1)
    #expect(seen.values == ["first 1", "number 1", "first -1"])
  }

  @Test("96: two forwards to one event deliver twice")
  func twoForwardsToOneEventDeliverTwice() {
    first.forward(to: second)
    first.forward(to: second)
    first.post(1)
    #expect(seen.values == ["first 1", "second 1", "second 1"])
  }

  @Test("97: a cycle ends")
  func aCycleEnds() async {
    first.forward(to: second)
    second.forward(to: third)
    third.forward(to: first)
    third.forward(to: third)
    let report = await comesBack { [first] in await first.send(1) }
    #expect(report?.delivered == 2)
    third.post(2)
    #expect(seen.values == ["first 1", "second 1", "third 1", "third 2", "first 2", "second 2"])
  }

  @Test("98: a forward keeps its target only if asked", arguments: [false, true])
  func aForwardKeepsItsTargetOnlyIfAsked(strongly: Bool) async {
    let live = LiveCount()
    do {
      let (target, canary) = (Event<Int>(), Canary(live))
      target.addHandler { _ in canary.sing() }
      first.forward(to: target, strongly: strongly)
      withExtendedLifetime(target) { #expect(live.alive == 1) }
    }
    #expect(await eventually { live.alive == (strongly ? 1 : 0) })
    #expect(await first.send(1).delivered == (strongly ? 2 : 1))
    first.removeAll()
    #expect(await eventually { live.alive == 0 })
  }
}
