import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of what a group has not handled yet, and of the monitor that tells of its growth.
@Suite(.timeLimit(.minutes(10))) struct BacklogTests {
  /// Each message that is not handled is counted once, wherever it waits.
  @Test func everyUnhandledMessageCountsOnce() throws {
    try simulate(1...50) { clock in
      let bus = InMemoryTransport(seed: 5, faults: [.drop(0.2), .delay(upTo: .milliseconds(300))], clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let handled = Notes<Int>()
      event.addHandler(on: .concurrent(limit: 4)) { number async throws in
        try await clock.sleep(for: .milliseconds(100))
        if number.isMultiple(of: 3), handled.count < 10 { throw Refused() }
        handled.note(number)
      }
      try await event.listen(
        as: "one", inFlight: 3, retry: .exponential(from: .seconds(1), to: .seconds(2), attempts: 100))
      for number in 1...20 { try await event.publish(number) }
      var (last, most) = (20, 0)
      for _ in 1...400 {
        let backlog = try await event.backlog(of: "one")
        let count = backlog.waiting + backlog.inHand
        try require(count <= last, "\(backlog) after \(last)")
        // A verdict comes shortly after the call.
        try require(count >= 20 - handled.count, "\(backlog), \(handled.count) handled")
        try require((backlog.oldest == nil) == (count == 0), "\(backlog)")
        (last, most) = (count, max(most, backlog.redelivered))
        if count == 0 { break }
        try await clock.sleep(for: .milliseconds(100))
      }
      try require(last == 0 && handled.count == 20, "\(last) left, \(handled.count) handled")
      try require(most > 0, "no redelivery was counted")
    }
  }

  @Test func aGrowthIsToldOnce() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (readings, incidents) = (Notes<Int>(), Notes<TransportIncident.Kind>())
      let monitor = BacklogMonitor(of: event, in: "one", every: .seconds(1), growingFor: .seconds(10), clock: clock)
      monitor.backlogs.addHandler { readings.note($0.waiting) }
      monitor.incidents.addHandler { incidents.note($0.kind) }
      try await clock.sleep(for: .milliseconds(2_500))
      try require(incidents.values == [.refused] && readings.count == 0, "\(incidents.values)")  // no such group yet
      try await event.listen(as: "one")
      for round in 1...2 {
        for number in 1...20 {
          try await event.publish(number)
          try await clock.sleep(for: .seconds(1))
        }
        try require(incidents.values.count { $0 == .growingBacklog } == round, "\(incidents.values)")
        let token = event.addHandler { _ in }
        try await clock.sleep(for: .seconds(2))
        event.remove(token)
      }
      try require(readings.values.max() == 20 && readings.values.last == 0, "\(readings.values)")
      withExtendedLifetime(monitor) {}
    }
  }

  /// A group that keeps up is never idle when somebody looks, and its backlog does not grow.
  @Test func aBusyGroupThatKeepsUpIsNotTold() throws {
    try simulate(1...10) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (readings, incidents) = (Notes<Int>(), Notes<TransportIncident.Kind>())
      try await event.listen(as: "one")
      let monitor = BacklogMonitor(of: event, in: "one", every: .seconds(1), growingFor: .seconds(6), clock: clock)
      monitor.backlogs.addHandler { readings.note($0.waiting + $0.inHand) }
      monitor.incidents.addHandler { incidents.note($0.kind) }
      try await clock.sleep(for: .milliseconds(500))
      event.addHandler { _ async throws in try await clock.sleep(for: .milliseconds(900)) }
      for number in 1...40 {
        for _ in 0...number % 2 { try await event.publish(number) }
        try await clock.sleep(for: .milliseconds(number.isMultiple(of: 2) ? 1_900 : 900))
      }
      try require(readings.values.first == 0 && readings.values.dropFirst().contains { $0 > 0 }, "\(readings.values)")
      try require(incidents.count == 0, "\(incidents.values) \(readings.values)")
      withExtendedLifetime(monitor) {}
    }
  }

  @Test func whatIsNotCountedIsRefused() async throws {
    let bus = InMemoryTransport()
    func code(_ event: RemoteEvent<Int>, _ group: String) async -> TransportError.Code? {
      do { _ = try await event.backlog(of: group) } catch let error as TransportError { return error.code } catch {}
      return nil
    }
    #expect(await code(RemoteEvent("numbers", over: bus), "nobody") == .badGroup)
    #expect(await code(RemoteEvent("numbers", over: bus), "not a name") == .badGroup)
    #expect(await code(RemoteEvent("numbers", over: bus.plain), "one") == .notPromised)
    #expect(await code(RemoteEvent("", over: bus), "one") == .badSubject)
  }

  @Test func aKeyedEventCountsAllKeys() async throws {
    let bus = InMemoryTransport()
    let event = RemoteKeyedEvent<String, Int>("numbers", over: bus)
    try await event.listen(as: "one")
    try await event.publish(1, to: "a")
    try await event.publish(2, to: "b")
    #expect(try await event.backlog(of: "one").waiting == 2)
  }
}
