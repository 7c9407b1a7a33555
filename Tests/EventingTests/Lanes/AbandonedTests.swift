import Dispatch
import EventingTesting
import Testing

@testable import Eventing

/// Tests that what waits behind a call that hangs is skipped and released when its handler ends
/// (G7, G10, G21).
@Suite(.fewAtATime) struct AbandonedTests {
  private final class Payload: Sendable {
    let number: Int
    let canary: Canary
    init(_ number: Int, _ live: LiveCount) { (self.number, canary) = (number, Canary(live)) }
  }

  enum Kind: CaseIterable, Sendable {
    case inOrder, background, bounded, main, concurrent, timed, restarted, batched, keyed, retried, throttled
    case lane, boundedOnLane, wideLane
    /// The drain has dequeued all payloads together with that of the call that hangs.
    case dequeuedOnQueue, dequeuedOnLane
    /// Another handler's call hangs, and no call of this handler has begun.
    case behindAnother, boundedBehindAnother
  }

  private static func handler(
    _ kind: Kind, _ lane: HandlerLane, _ queue: DispatchQueue, _ begun: Recorder<Int>, _ gate: Gate
  ) -> Handler<Payload> {
    let body: @Sendable (Payload) async throws -> Void = { payload in
      begun.record(payload.number)
      if payload.number == 0 { await Task.detached { await gate.opened() }.value }
    }
    let blocking: @Sendable (Payload) -> Void = { payload in
      begun.record(payload.number)
      if payload.number == 0 { gate.wait() }
    }
    let clock = ManualClock()
    return switch kind {
    case .inOrder: Handler(on: .inOrder, perform: body)
    case .background: Handler(on: .background, perform: blocking)
    case .bounded: Handler(.buffering(.oldest(64)), on: .inOrder, perform: body)
    case .main: Handler(on: .main) { payload async throws in try await body(payload) }
    case .concurrent: Handler(on: .concurrent(limit: 1), perform: body)
    case .timed: Handler(.timingOut(after: .seconds(1), clock: clock), on: .inOrder, perform: body)
    case .restarted: Handler(.cancellingPrevious, on: .inOrder, perform: body)
    case .batched: Handler { batch in for payload in batch { try await body(payload) } }.batched(of: 1)
    case .keyed: Handler(.inOrder { _ in 0 }, on: .concurrent(limit: 2), perform: body)
    case .retried: Handler(.retrying(.immediately(attempts: 2)), on: .inOrder, perform: body)
    case .throttled: Handler(.throttled(every: .seconds(1), clock: clock), on: .inOrder, perform: body)
    case .lane, .dequeuedOnLane, .behindAnother: Handler(on: .lane(lane), perform: body)
    case .boundedOnLane, .boundedBehindAnother: Handler(.buffering(.oldest(64)), on: .lane(lane), perform: body)
    case .wideLane: Handler(.buffering(.oldest(64)), on: .lane(HandlerLane(limit: 1)), perform: body)
    case .dequeuedOnQueue: Handler(on: .queue(queue), perform: blocking)
    }
  }

  @Test(arguments: Kind.allCases, ["remove", "removeAll", "once", "finish and remove"])
  func whatWaitsBehindACallThatHangsIsSkipped(kind: Kind, how: String) async {
    let (lane, queue, live) = (HandlerLane("l"), DispatchQueue(label: "q"), LiveCount())
    let (begun, gate, before) = (Recorder<Int>(), Gate(), Gate())
    let (event, other) = (Event<Payload>("e"), Event<Int>("other"))
    let handler = AbandonedTests.handler(kind, lane, queue, begun, gate)
    let isBehind = kind == .behindAnother || kind == .boundedBehindAnother
    let isLate = kind == .dequeuedOnLane || isBehind
    if isLate {
      other.addHandler(on: .lane(lane)) { _ in await before.opened() }
      other.post(0)
    }
    if isBehind, how == "once" { return before.open() }
    if kind == .dequeuedOnQueue { queue.suspend() }
    let token = event.add(how == "once" ? handler.with(.once) : handler)
    var tickets = [event.submit(Payload(0, live))]
    if !isLate, kind != .dequeuedOnQueue { #expect(await eventually { begun.count == 1 }) }
    for number in 1...32 { tickets.append(event.submit(Payload(number, live))) }
    if kind == .dequeuedOnQueue { queue.resume() }
    if kind == .dequeuedOnLane { before.open() }
    if !isBehind { #expect(await eventually { begun.count == 1 }) }
    switch how {
    case "remove": event.remove(token)
    case "removeAll": event.removeAll()
    case "once": break  // its first call has used it up
    default:
      event.finish()
      event.remove(token)
    }
    let waiting = isBehind ? tickets : Array(tickets.dropFirst())
    for ticket in waiting {
      let report = await ticket.report
      #expect(report.delivered == 0 && report.skipped + report.dropped <= 1)
    }
    #expect(await eventually { live.alive <= 1 })
    let barrier = Task { await event.quiesce() }
    gate.open()
    before.open()
    await barrier.value
    #expect(await eventually { live.alive == 0 })
    #expect(begun.values == (isBehind ? [] : [0]))
    #expect(await eventually { event.handlerCount == 0 })
  }

  private final class Key: Hashable, Sendable {
    let number: Int
    let canary: Canary
    init(_ number: Int, _ live: LiveCount) { (self.number, canary) = (number, Canary(live)) }
    static func == (one: Key, other: Key) -> Bool { one.number == other.number }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  /// The keys go with the payloads that waited, and not when the call that hangs returns.
  @Test func theKeysOfWhatWaitsBehindACallThatHangsAreReleased() async {
    let (event, live, begun, gate) = (Event<Int>("e"), LiveCount(), Recorder<Int>(), Gate())
    let token = event.add(
      Handler(.inOrder { Key($0, live) }, on: .concurrent(limit: 1)) { (number: Int) async in
        begun.record(number)
        await Task.detached { await gate.opened() }.value
      })
    event.post(0)
    #expect(await eventually { begun.count == 1 })
    for number in 1...3_000 { event.post(number) }
    #expect(live.alive == 3_001)
    event.remove(token)
    #expect(await eventually { live.alive <= 1 })
    gate.open()
    await event.quiesce()
    #expect(await eventually { live.alive == 0 } && begun.values == [0])
  }

  /// Handlers are removed while their drain begins, runs and gives way.
  @Test(arguments: ["queue", "inOrder", "lane"]) func aRemovalAtAnyTimeLosesNoReport(place: String) async {
    let lane = HandlerLane("l")
    for round in 0..<300 {
      let (event, live, calls) = (Event<Payload>("e"), LiveCount(), Counter())
      let handler: Handler<Payload> =
        switch place {
        case "queue": Handler(on: .background) { _ in calls.add() }
        case "lane": Handler(on: .lane(lane)) { _ async in calls.add() }
        default: Handler { _ async in calls.add() }
        }
      let token = event.add(handler)
      let tickets = (0..<200).map { event.submit(Payload($0, live)) }
      for _ in 0..<round { await Task.yield() }
      event.remove(token)
      var delivered = 0
      for ticket in tickets {
        let report = await ticket.report
        #expect(report.delivered + report.skipped == 1)
        delivered += report.delivered
      }
      #expect(delivered == calls.value)
      #expect(await eventually { live.alive == 0 })
    }
  }
}
