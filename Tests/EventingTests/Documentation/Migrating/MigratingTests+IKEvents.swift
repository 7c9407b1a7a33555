import Eventing
import Testing

extension MigratingTests {
  final class Chart: Sendable {
    let steps = Recorder<String>()
    func move(from: Int, to: Int) { steps.record("\(from)–\(to)") }
  }

  final class Slider: Sendable {
    private let moved = Event<(Int, Int)>()
    var moves: some EventSource<(Int, Int)> { moved.source }
    func slide(_ from: Int, _ to: Int) { moved.post((from, to)) }
  }

  @Test func codeThatOnlyAddsHandlersGetsASource() {
    let slider = Slider()
    let chart = Chart()
    slider.moves.addHandler(owner: chart) { $0.move(from: $1, to: $2) }
    slider.slide(1, 2)
    #expect(chart.steps.values == ["1–2"])
  }

  @Test func targetsAreOwners() async {
    let moved = Event<(Int, Int)>()
    var chart = Chart()
    let steps = chart.steps
    moved.addHandler(owner: chart) { $0.move(from: $1, to: $2) }
    moved.addHandler(owner: chart) { chart, from, to in chart.move(from: from, to: to) }
    moved.addHandler(.once, owner: chart) { $0.move(from: $1, to: $2) }
    moved.addHandler(.once, owner: chart) { chart, from, to in chart.move(from: from, to: to) }

    moved.post((1, 2))
    #expect(steps.values == ["1–2", "1–2", "1–2", "1–2"])
    await moved.send((1, 2))
    #expect(steps.count == 6)

    chart = Chart()
    #expect(moved.handlerCount == 0)
    moved.addHandler(owner: chart) { chart, from, to in chart.move(from: from, to: to) }
    moved.removeAll(where: .ownedBy(chart))
    #expect(moved.handlerCount == 0)
  }

  @Test func aHandlerMayTakeFewerValues() {
    let moved = Event<(Int, Int)>()
    let notes = Recorder<Int>()
    @Sendable func note(_ value: Int) { notes.record(value) }
    moved.addHandler { from, _ in note(from) }
    moved.signal.addHandler { print("moved") }
    moved.post((1, 2))
    #expect(notes.values == [1])
    moved.removeAll()
    #expect(moved.handlerCount == 0)
  }

  @Test func aHandlerOnMainIsWaitedForWithoutBlocking() async {
    let moved = Event<(Int, Int)>()
    let drawn = Recorder<Int>()
    @MainActor func draw(_ from: Int, _ to: Int) { drawn.record(to - from) }
    moved.addHandler(on: .main) { from, to in draw(from, to) }
    await moved.send((1, 2))
    #expect(drawn.values == [1])
  }

  @Test func nothingAndNil() async {
    let stopped = Signal()
    let renamed = Event<String?>()
    let calls = Recorder<String>()
    stopped.addHandler { calls.record("stopped") }
    renamed.addHandler { name in calls.record(name ?? "no name") }
    stopped.post()
    renamed.post(nil)
    #expect(calls.values == ["stopped", "no name"])
  }

  @Test func forwardsDeliverAndEnd() async {
    let moved = Event<(Int, Int)>()
    let copy = Event<(Int, Int)>()
    let distance = Event<Int>()
    let calls = Recorder<String>()
    copy.addHandler { from, to in calls.record("\(from)–\(to)") }
    distance.addHandler { calls.record("\($0)") }

    let link = moved.forward(to: copy, strongly: true)
    moved.compactMap { from, to in to == from ? nil : abs(to - from) }.forward(to: distance)
    moved.post((5, 2))
    moved.post((2, 2))
    #expect(calls.values == ["5–2", "3", "2–2"])

    moved.remove(link)
    moved.forward(to: copy)
    moved.removeAll(where: .forwarding(to: copy))
    moved.post((1, 3))
    #expect(calls.values == ["5–2", "3", "2–2", "2"])
  }
}
