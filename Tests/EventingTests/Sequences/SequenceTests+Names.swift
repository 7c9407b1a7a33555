import Eventing
import Testing

extension SequenceTests {
  @Test func aSequenceMayHaveAName() async {
    let event = Event<Int>()
    let ada = event.payloads(named: "ada", buffering: .newest(2))
    let counted = event.arrivals(named: "counted", buffering: .oldest(1))
    for number in 1...3 { event.post(number) }
    let snapshots = await event.handlers()
    #expect(snapshots.map(\.name) == ["ada", "counted"] && snapshots.map(\.droppedCount) == [1, 2])
    #expect(event.contains(where: .named("ada")) && event.removeAll(where: .named("ada")) == 1)
    event.finish()
    var seen: [Int] = []
    for await number in ada { seen.append(number) }
    #expect(seen.isEmpty)
    var arrivals: [EventArrival<Int>] = []
    for await arrival in counted { arrivals.append(arrival) }
    #expect(arrivals == [.payload(1), .dropped(2)])
  }
}
