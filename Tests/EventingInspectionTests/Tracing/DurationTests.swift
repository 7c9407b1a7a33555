import Eventing
import Foundation
import Testing

@testable import EventingInspection

/// Tests of the durations of traced calls in the rows of handlers.
@Suite(.serialized) struct DurationTests {
  @Test func theRowsOfATracedEventHaveDurations() async throws {
    try await Serving.with { inspection in
      let (event, other) = (Event<Int>("timed"), Event<Int>("not timed"))
      let slow = event.addHandler { number in usleep(number == 0 ? 20_000 : 200) }
      event.addHandler(on: .background) { _ in }
      other.addHandler { _ in }
      inspection.include(event)
      inspection.include(other)
      let client = try TestClient(inspection.path)
      try await client.sayHello()
      let ids = [event.identity.number, other.identity.number]
      func rows() async throws -> [[String: Any]] { try await client.rows("handlers", events: ids) }
      await event.send(1)
      #expect(try await rows().allSatisfy { $0["p50Ns"] is NSNull && $0["timed"] as? Int == 0 })
      let began = try await client.request(["do": "trace", "action": "start", "events": [ids[0]]])
      let trace = try #require(began["trace"] as? Int)
      for number in 0..<60 { await event.send(number) }
      await other.send(1)
      _ = try await client.request(["do": "trace", "action": "stop", "trace": trace])
      await event.send(1)
      var (timed, patience) = ([[String: Any]](), Patience())
      while timed.count < 2, patience.isLeft() { timed = try await rows().filter { $0["timed"] as? Int == 60 } }
      let row = try #require(timed.first { $0["id"] as? Int == Int(slow.id) })
      let (p50, p99) = (row["p50Ns"] as? Int ?? 0, row["p99Ns"] as? Int ?? 0)
      #expect(p50 >= 188_000 && p50 <= p99 && p99 >= 18_800_000, "\(p50) \(p99)")
      let rest = try await rows().filter { $0["event"] as? Int == Int(ids[1]) }
      #expect(rest.count == 1 && rest.allSatisfy { $0["p99Ns"] is NSNull && $0["timed"] as? Int == 0 })
    }
  }

  @Test func aPercentileIsSixPercentOffAtMost() {
    for duration in [0, 1, 7, 8, 9, 100, 1_000, 123_456, 9_999_999_999, UInt64.max] {
      var histogram = DurationHistogram()
      for _ in 0..<10 { histogram.add(duration) }
      let found = histogram.percentile(0.5)
      let (least, most) = (Double(duration) * 0.93, Double(duration) * 1.07)
      #expect((least...most).contains(Double(found)), "\(duration) \(found)")
    }
    var histogram = DurationHistogram()
    for number in 1...1_000 { histogram.add(UInt64(number) * 1_000) }
    #expect((470_000...530_000).contains(histogram.percentile(0.5)))
    #expect((930_000...1_050_000).contains(histogram.percentile(0.99)))
    #expect(histogram.count == 1_000)
  }

  /// Removes three handlers between two polls: one that the first poll knew, one that is called
  /// again before its removal, and one that was added after the first poll.
  @Test func durationsOfHandlersThatAreGoneAreForgotten() {
    EventRegistry.start()
    defer { EventRegistry.stop() }
    let event = Event<Int>("forgets")
    let (known, calledAgain) = (event.addHandler { _ in }, event.addHandler { _ in })
    let trace = EventTrace(of: event)
    defer { trace.stop() }
    let poller = Poller()
    event.post(1)
    poller.poll()
    #expect([known, calledAgain].map { poller.durations.timing(of: $0.id)?.count } == [1, 1])
    event.remove(known)
    let unseen = event.addHandler { _ in }
    event.post(2)
    event.remove(calledAgain)
    event.remove(unseen)
    poller.poll()
    #expect([known, calledAgain, unseen].map { poller.durations.timing(of: $0.id)?.count } == [nil, nil, nil])
  }

  @Test func everyBucketIsUsed() {
    // A bucket of the histogram counts the durations of one range. For each range, in ascending
    // order, `found` gets the bucket of one duration in this range. Below 8, each duration is a
    // range of its own. From 8 on, there are eight ranges from each power of two to the next.
    var found = (0...7).map { DurationHistogram.bucket(of: $0) }
    for power in 3...63 {
      for eighth in 8...15 { found.append(DurationHistogram.bucket(of: UInt64(eighth) << UInt64(power - 3))) }
    }
    #expect(found == Array(0..<DurationHistogram.bucketCount))
    #expect(DurationHistogram.bucket(of: .max) == DurationHistogram.bucketCount - 1)
  }

  /// Posts so often between two reads of the trace's ring that the ring is overwritten many times.
  @Test func callsWhoseBeginningIsGoneAreNotCounted() {
    let durations = CallDurations()
    let event = Event<Int>()
    let token = event.addHandler { _ in }
    let trace = EventTrace(of: event, lastMegabytes: 1)
    for number in 0..<100 { event.post(number) }
    durations.read()
    #expect(durations.timing(of: token.id)?.count == 100 && durations.takeChanged().contains(token.id))
    durations.read()
    #expect(durations.timing(of: token.id)?.count == 100 && !durations.takeChanged().contains(token.id))
    for number in 0..<50_000 { event.post(number) }
    durations.read()
    let count = durations.timing(of: token.id)?.count ?? 0
    #expect(count > 1_000 && count < 50_100, "\(count)")
    trace.stop()
    durations.read()
    durations.forget(token.id)
    #expect(durations.timing(of: token.id) == nil)
  }
}
