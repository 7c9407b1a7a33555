import Eventing
import EventingTesting
import Testing

/// The ways to send payloads to handlers on actors and lanes, after a delay, to handlers that fail,
/// and by sends that are cancelled.
enum PlacePath: String, PayloadPath {
  case main, mainAsync, calledOnMain, removedOnMain, actor, sharedLane, sharedByTwo
  case restarting, suspendingSender, sequenceSuspendingSender
  case later, laterCancelled, laterUntilTheEnd, laterReleased
  case deadLetters, deadLettersAsync, deadLettersOfBatches, cancelledSends

  var expected: [Int]? {
    switch self {
    case .main, .mainAsync, .calledOnMain, .actor, .sharedLane, .suspendingSender, .sequenceSuspendingSender, .later,
      .deadLetters, .deadLettersAsync, .deadLettersOfBatches, .cancelledSends:
      Array(1...payloadCount)
    case .sharedByTwo: (1...payloadCount).flatMap { [$0, $0] }
    case .removedOnMain, .laterCancelled, .laterUntilTheEnd, .laterReleased: []
    case .restarting: nil
    }
  }

  func run<Payload: Sendable>(_ travel: Travel<Payload>) async {
    switch self {
    case .main, .mainAsync, .calledOnMain, .removedOnMain: await runOnMain(travel)
    case .actor, .sharedLane, .sharedByTwo, .restarting, .suspendingSender, .sequenceSuspendingSender:
      await runInTasks(travel)
    case .later, .laterCancelled, .laterUntilTheEnd, .laterReleased: await runLater(travel)
    case .deadLetters, .deadLettersAsync, .deadLettersOfBatches, .cancelledSends: await runFailing(travel)
    }
  }

  private struct Refused: Error {}

  private func runOnMain<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let event = Event<Payload>()
    switch self {
    case .mainAsync: event.addHandler(on: .main) { payload async in travel.see(payload) }
    default: event.addHandler(on: .main) { travel.see($0) }
    }
    switch self {
    case .calledOnMain: await MainActor.run { travel.post(to: event) }
    case .removedOnMain:
      await MainActor.run {
        // The main queue is busy, so payloads of another thread wait.
        startThread { travel.post(to: event) }.wait()
        event.removeAll()
      }
    default: travel.post(to: event)
    }
    await event.quiesce()
  }

  private func runInTasks<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let (event, stage) = (Event<Payload>(), Stage())
    switch self {
    case .actor: event.addHandler(isolatedTo: stage) { _, payload in travel.see(payload) }
    case .sharedLane, .sharedByTwo:
      let lane = HandlerLane("shared", limit: 2)
      event.addHandler(on: .lane(lane)) { payload async in travel.see(payload) }
      if self == .sharedByTwo { event.addHandler(on: .lane(lane)) { payload async in travel.see(payload) } }
    case .restarting:
      event.addHandler(.cancellingPrevious) { payload async in
        await Task.yield()
        travel.see(payload)
      }
    case .suspendingSender:
      event.addHandler(.buffering(.suspendingSender(3)), on: .inOrder) { payload async in travel.see(payload) }
      for number in 1...payloadCount { await event.send(travel.make(number)) }
      return
    case .sequenceSuspendingSender:
      let payloads = event.payloads(buffering: .suspendingSender(3))
      async let sent: Void = {
        for number in 1...payloadCount { await event.send(travel.make(number)) }
        event.finish()
      }()
      for await payload in payloads { travel.see(payload) }
      return await sent
    default: preconditionFailure("\(self) runs elsewhere")
    }
    travel.post(to: event)
    await event.quiesce()
    withExtendedLifetime(stage) {}
  }

  private func runLater<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let clock = ManualClock()
    var event: Event<Payload>? = Event()
    event!.addHandler { travel.see($0) }
    let posts = (1...payloadCount).map { number in
      event!.post(travel.make(number), after: .seconds(number % 3 + 1), clock: clock)
    }
    switch self {
    case .laterCancelled: for post in posts { post.cancel() }
    case .laterUntilTheEnd: event!.finish()
    case .laterReleased: event = nil
    default:
      while travel.seen.count < payloadCount {
        guard await eventually({ clock.sleeperCount > 0 || travel.seen.count == payloadCount }) else { return }
        clock.advance(by: .seconds(1))
      }
    }
    withExtendedLifetime(event) {}
  }

  private func runFailing<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let event = Event<Payload>()
    event.deadLetters.addHandler { travel.see($0.payload) }
    switch self {
    case .deadLetters: event.addHandler { _ in throw Refused() }
    case .deadLettersAsync:
      event.addHandler(.retrying(.immediately(attempts: 2)), on: .inOrder) { _ async throws in throw Refused() }
    case .deadLettersOfBatches:
      event.batches(of: 4).addHandler { (_: [Payload]) async throws in throw Refused() }
    default:
      let gate = Gate()
      event.addHandler(on: .task) { payload async in
        travel.see(payload)
        await gate.opened()
      }
      for number in 1...payloadCount {
        let send = Task { await event.send(travel.make(number)) }
        guard await eventually({ travel.seen.count == number }) else { return }
        send.cancel()
        _ = await send.value
      }
      return
    }
    travel.post(to: event)
    await event.quiesce()
    _ = await eventually { travel.seen.count == payloadCount }
  }
}
