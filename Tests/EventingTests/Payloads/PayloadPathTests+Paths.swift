import Dispatch
import Eventing
import EventingTesting
import Testing

/// The ways to send payloads through an event with one handler, one sequence, or one modifier.
enum Path: String, PayloadPath {
  case inline, nested, submitted, sentWhileBusy, throwing, view, owned, once, forwarded
  case queue, background, async, task, concurrent, boundedOldest, boundedNewest, concurrentBounded
  case held, heldLatest, heldAndRemoved, heldOnALane, finishedOnALane, droppedWithItsEvent
  case sequence, sequenceBounded, sequenceGivenUp, sequenceCancelled, sequenceOfTwo, arrivals
  case batches, batchesBounded, batchesRemoved, byKey, retried, throttled
  case replayLast, replayCurrent, replayNone, keyed, observed, observedInitial, unhandled

  /// The numbers of the payloads that arrive; `nil` if the numbers are not certain.
  var expected: [Int]? {
    switch self {
    case .inline, .nested, .submitted, .sentWhileBusy, .throwing, .view, .owned, .forwarded, .held, .sequence, .keyed,
      .unhandled:
      Array(1...payloadCount)
    case .queue, .background, .async, .task, .concurrent, .batches, .byKey, .retried: [1] + Array(1...payloadCount)
    case .once: [1]
    case .heldLatest: [payloadCount]
    case .heldAndRemoved: []
    case .replayLast: [18, 19, 20]
    default: nil
    }
  }

  func run<Payload: Sendable>(_ travel: Travel<Payload>) async {
    switch self {
    case .inline, .nested, .submitted, .sentWhileBusy, .throwing, .view, .owned, .once, .forwarded:
      await runInline(travel)
    case .queue, .background, .async, .task, .concurrent, .boundedOldest, .boundedNewest, .concurrentBounded:
      await runElsewhere(travel)
    case .held, .heldLatest, .heldAndRemoved, .heldOnALane, .finishedOnALane, .droppedWithItsEvent:
      await runHeld(travel)
    case .sequence, .sequenceBounded, .sequenceGivenUp, .sequenceCancelled, .sequenceOfTwo, .arrivals:
      await runSequence(travel)
    case .batches, .batchesBounded, .batchesRemoved, .byKey, .retried, .throttled: await runModified(travel)
    case .replayLast, .replayCurrent, .replayNone, .keyed, .observed, .observedInitial, .unhandled:
      await runOther(travel)
    }
  }

  private struct Refused: Error {}

  private func runInline<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let event = Event<Payload>()
    switch self {
    case .nested:
      let other = Event<Int>()
      event.addHandler { travel.see($0) }
      other.addHandler { _ in travel.post(to: event) }
      event.once { _ in travel.post(to: event, 2...payloadCount) }
      return event.post(travel.make(1))
    case .submitted:
      event.addHandler { travel.see($0) }
      for number in 1...payloadCount { _ = await event.submit(travel.make(number)).report }
      return
    case .sentWhileBusy:
      let (inside, gate) = (Gate(), Gate())
      event.addHandler { payload in
        travel.see(payload)
        inside.open()
        gate.wait()
      }
      let first = startThread { event.post(travel.make(1)) }
      await inside.opened()
      travel.post(to: event, 2...10)
      async let sent: Void = { for number in 11...payloadCount { await event.send(travel.make(number)) } }()
      gate.open()
      await first.opened()
      return await sent
    case .throwing:
      event.addHandler { payload in
        travel.see(payload)
        throw Refused()
      }
    case .view:
      event.filter { travel.number($0) >= 0 }.map { $0 }.addHandler { travel.see($0) }
    case .owned:
      let owner = Canary(travel.live)
      event.addHandler(owner: owner) { _, payload in travel.see(payload) }
      travel.post(to: event)
      return withExtendedLifetime(owner) {}
    case .once: event.once { travel.see($0) }
    case .forwarded:
      let target = Event<Payload>()
      target.addHandler { travel.see($0) }
      event.forward(to: target)
      travel.post(to: event)
      return withExtendedLifetime(target) {}
    default: event.addHandler { travel.see($0) }
    }
    travel.post(to: event)
  }

  private func runElsewhere<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let event = Event<Payload>()
    switch self {
    case .queue: event.addHandler(on: .queue(DispatchQueue(label: "test"))) { travel.see($0) }
    case .background: event.addHandler(on: .background) { travel.see($0) }
    case .async: event.addHandler { payload async in travel.see(payload) }
    case .task: event.addHandler(on: .task) { payload async in travel.see(payload) }
    case .concurrent: event.addHandler(on: .concurrent(limit: 2)) { payload async in travel.see(payload) }
    case .boundedOldest: event.addHandler(.buffering(.oldest(3)), on: .background) { travel.see($0) }
    case .boundedNewest: event.addHandler(.buffering(.newest(3)), on: .background) { travel.see($0) }
    default:
      event.addHandler(.buffering(.newest(2)), on: .concurrent(limit: 2)) { payload async in
        await Task.yield()
        travel.see(payload)
      }
    }
    travel.post(to: event)
    await event.send(travel.make(1))
    await event.quiesce()
  }

  private func runModified<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let event = Event<Payload>()
    switch self {
    case .batches: event.batches(of: 7).addHandler { batch async in batch.forEach(travel.see) }
    case .batchesBounded, .batchesRemoved:
      event.batches(of: 4, within: .seconds(3_600)).addHandler(.buffering(.newest(6)), on: .inOrder) { batch async in
        batch.forEach(travel.see)
      }
    case .byKey:
      event.add(
        Handler(.inOrder { travel.number($0) % 3 }, on: .concurrent(limit: 2)) { payload async in travel.see(payload) })
    case .retried:
      let failures = Recorder<Int>()
      event.add(
        Handler(.retrying(.immediately(attempts: 4))) { payload async throws in
          failures.record(travel.number(payload))
          if failures.count.isMultiple(of: 2) { throw Refused() }
          travel.see(payload)
        })
    default: event.addHandler(.throttled(every: .seconds(3_600), clock: ManualClock())) { travel.see($0) }
    }
    travel.post(to: event)
    if self == .batchesRemoved { return _ = event.removeAll() }
    // The cases `batchesBounded` and `throttled`, whose `expected` is `nil`, make no send. In
    // `batchesBounded` a send could wait for the time limit of the batch, which is an hour. In
    // `throttled` a send could wait for ever, because the clock of the throttle does not advance.
    if expected != nil { await event.send(travel.make(1)) }
    await event.quiesce()
  }

  private func runHeld<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let event = Event<Payload>()
    switch self {
    case .held, .heldLatest, .heldAndRemoved:
      let token = event.addHandler { travel.see($0) }
      event.lock(token, holding: self == .heldLatest ? .latest : .oldest(100))
      travel.post(to: event)
      if self == .heldAndRemoved { event.remove(token) } else { event.unlock(token) }
    case .heldOnALane, .finishedOnALane:
      let queue = DispatchQueue(label: "test")
      queue.suspend()
      let token = event.addHandler(on: .queue(queue)) { travel.see($0) }
      travel.post(to: event)
      event.lock(token, holding: .oldest(100))
      queue.resume()
      queue.sync {}
      travel.post(to: event)
      if self == .heldOnALane { event.unlock(token) } else { event.finish() }
      await event.quiesce()
    default:
      let queue = DispatchQueue(label: "test")
      queue.suspend()
      do {
        let event = Event<Payload>()
        event.addHandler(on: .queue(queue)) { travel.see($0) }
        travel.post(to: event)
      }
      queue.resume()
      queue.sync {}
    }
  }

  private func runSequence<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let event = Event<Payload>()
    switch self {
    case .sequence, .sequenceBounded:
      let payloads = event.payloads(buffering: self == .sequence ? .unbounded : .newest(3))
      travel.post(to: event)
      event.finish()
      for await payload in payloads { travel.see(payload) }
    case .sequenceGivenUp:
      let payloads = event.payloads()
      travel.post(to: event)
      var iterator = payloads.makeAsyncIterator()
      if let first = await iterator.next(isolation: #isolation) { travel.see(first) }
    case .sequenceCancelled:
      let task = Task {
        for await payload in event.payloads(buffering: .oldest(2)) { travel.see(payload) }
      }
      travel.post(to: event)
      task.cancel()
      await task.value
      travel.post(to: event)
    case .sequenceOfTwo:
      let payloads = event.payloads()
      travel.post(to: event, 1...10)
      var (first, second) = (payloads.makeAsyncIterator(), payloads.makeAsyncIterator())
      travel.post(to: event, 11...payloadCount)
      for _ in 0..<5 {
        if let payload = await first.next(isolation: #isolation) { travel.see(payload) }
        if let payload = await second.next(isolation: #isolation) { travel.see(payload) }
      }
    default:
      let arrivals = event.arrivals(buffering: .newest(3))
      travel.post(to: event)
      event.finish()
      for await case .payload(let payload) in arrivals { travel.see(payload) }
    }
  }

  private func runOther<Payload: Sendable>(_ travel: Travel<Payload>) async {
    switch self {
    case .replayLast, .replayCurrent, .replayNone:
      let replay: EventReplay<Payload> =
        self == .replayLast ? .last(3) : self == .replayCurrent ? .current(travel.make(1)) : .last(0)
      let event = Event<Payload>(replaying: replay)
      travel.post(to: event, 1...10)
      let busy = event.addHandler { if travel.number($0) == 10 { event.post(travel.make(11)) } }
      event.remove(busy)
      travel.post(to: event, 11...payloadCount)
      if let latest = event.latest, self == .replayCurrent { travel.see(latest) }
      event.addHandler { travel.see($0) }
    case .keyed:
      let event = KeyedEvent<Int, Payload>()
      event[1].addHandler { travel.see($0) }
      for number in 1...payloadCount { event.post(travel.make(number), to: 1) }
    case .observed, .observedInitial:
      let value = Observed(travel.make(1))
      value.changes(initial: self == .observedInitial, prior: self == .observed).addHandler { change in
        for payload in [change.old, change.new] { if let payload { travel.see(payload) } }
        if travel.number(change.new) == 7 { value.value = travel.make(8) }
      }
      for number in 1...payloadCount { value.value = travel.make(number) }
      value.update { $0 = travel.make(travel.number($0)) }
      value.newValues.addHandler { travel.see($0) }
      value.removeAll()  // breaks the retain cycle of a handler that captures the value
    default:
      let event = Event<Payload>()
      event.unhandled.addHandler { travel.see($0.payload) }
      travel.post(to: event)
      await event.quiesce()
    }
  }
}
