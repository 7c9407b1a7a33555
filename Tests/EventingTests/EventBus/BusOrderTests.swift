@testable import Eventing
import Testing

/// The order in which a bus goes through its events, and what leaving it costs.
@Suite(.timeLimit(.minutes(2))) struct BusOrderTests {
  private final class Owner: Sendable {}
  private final class Log: Sendable { let names = Recorder<String>() }
  /// Writes its name into a log when it is released.
  private final class AtEnd: Sendable {
    let (name, log): (String, Log)
    init(_ name: String, _ log: Log) { (self.name, self.log) = (name, log) }
    deinit { log.names.record(name) }
  }
  private struct A: Sendable {}
  private struct B: Sendable {}
  private struct C: Sendable {}
  private struct D: Sendable {}
  private struct E: Sendable {}
  private struct F: Sendable {}

  @Test func finishEndsEventsInTheOrderInWhichTheyWereMade() throws {
    for _ in 0..<10 {
      let (bus, owners, log) = (EventBus(), (0..<6).map { _ in Owner() }, Log())
      func note<T: Sendable>(_ event: Event<T>, _ name: String) {
        let atEnd = AtEnd(name, log)
        event.addHandler { _ in withExtendedLifetime(atEnd) {} }
      }
      note(bus.event(for: A.self), "A")
      note(try bus.event(EventKey<Int>("0"), of: owners[0]), "0")
      note(bus.event(for: B.self), "B")
      note(bus.event(for: C.self), "C")
      for i in 1..<6 { note(try bus.event(EventKey<Int>("\(i)"), of: owners[i]), "\(i)") }
      note(bus.event(for: D.self), "D")
      note(bus.event(for: E.self), "E")
      note(bus.event(for: F.self), "F")
      bus.finish()
      #expect(log.names.values.joined() == "A0BC12345DEF")
      withExtendedLifetime(owners) {}
    }
  }

  /// Counts what the removals do, not how long they take.
  @Test func leavingTheBusCostsTheEventsOfTheOwnerOnly() throws {
    let (bus, count) = (EventBus(), 1_000)
    bus.all(as: (any Sendable).self).addHandler { _ in }
    let owners = (0..<count).map { _ in Owner() }
    for owner in owners { _ = try bus.event(EventKey<Int>("number"), of: owner) }
    let members = try #require(bus.busHandlers.first).members
    for owner in owners { bus.removeEvents(of: owner) }
    #expect(members.movedCount <= 2 * count)
    #expect(bus.all.isEmpty)
  }

  @Test func anEventThatLeavesTheBusLosesTheHandlerAndTheOthersKeepIt() throws {
    let (bus, seen) = (EventBus(), Log())
    bus.all(as: Int.self).addHandler { number in seen.names.record("\(number)") }
    let owners = (0..<100).map { _ in Owner() }
    let events = try owners.map { try bus.event(EventKey<Int>("number"), of: $0) }
    for index in 0..<99 { bus.removeEvents(of: owners[index]) }
    for (index, event) in events.enumerated() { event.post(index) }
    #expect(seen.names.values == ["99"])
    #expect(events.map(\.handlerCount).reduce(0, +) == 1)
  }

  @Test func callsOfOneHandlerOfAllPayloadsDoNotOverlapOnAQueue() async {
    let (bus, overlaps) = (EventBus(), Overlapping())
    bus.all(as: (any Sendable).self).addHandler(on: .background) { _ in overlaps.call() }
    await overlaps.postAll(to: bus)
    #expect(overlaps.most == 1)
  }

  @Test func callsOfOneAsynchronousHandlerOfAllPayloadsDoNotOverlap() async {
    let (bus, overlaps) = (EventBus(), Overlapping())
    bus.all(as: (any Sendable).self).addHandler(on: .inOrder) { _ async in
      overlaps.begin()
      for _ in 0..<10 { await Task.yield() }
      overlaps.end()
    }
    await overlaps.postAll(to: bus)
    #expect(overlaps.most == 1)
  }

  /// Counts the calls that run at the same time.
  private final class Overlapping: Sendable {
    private let counts = ConditionLock((now: 0, most: 0))
    var most: Int { counts.withLock { $0.most } }
    func begin() {
      counts.withLock { counts in
        counts.now += 1
        counts.most = max(counts.most, counts.now)
      }
    }
    func end() { counts.withLock { $0.now -= 1 } }
    /// A call that is long enough to overlap with one on another queue.
    func call() {
      begin()
      var sum = 0
      for i in 0..<200_000 { sum &+= i ^ sum }
      withExtendedLifetime(sum) { end() }
    }
    func postAll(to bus: EventBus) async {
      for i in 0..<20 {
        bus.post(i)
        bus.post("\(i)")
        bus.post(Double(i))
      }
      await bus.quiesce()
    }
  }
}
