import Eventing
import Testing

/// A ``PayloadPath`` on which payloads wait on a lane while something happens to the handler. The
/// tasks of the lane run only when the test says so.
struct LanePath: PayloadPath, CustomTestStringConvertible {
  /// The lane on which payloads wait.
  enum Kind: String, CaseIterable, Sendable {
    case inOrder, concurrent, task, shared, retrying, bounded, concurrentBounded, restarting
    case full, concurrentFull, suspending

    /// Whether the lane has room for all ``payloadCount`` payloads, and cancels no call.
    var keepsAll: Bool {
      switch self {
      case .inOrder, .concurrent, .task, .shared, .retrying, .bounded, .concurrentBounded: true
      case .restarting, .full, .concurrentFull, .suspending: false
      }
    }
  }

  /// The change that is made while payloads wait.
  enum Fate: String, CaseIterable, Sendable {
    case delivered, removed, skipped, finished, eventReleased, sendsCancelled
    case held, heldAndRemoved, heldAndFinished, heldAndEventReleased
  }

  let kind: Kind
  let fate: Fate

  static var allCases: [LanePath] {
    Kind.allCases.flatMap { kind in Fate.allCases.map { LanePath(kind: kind, fate: $0) } }
  }

  var testDescription: String { "\(kind), \(fate)" }

  var expected: [Int]? {
    switch fate {
    case .removed, .skipped, .heldAndRemoved: []
    case .delivered, .finished, .eventReleased, .held: kind.keepsAll ? Array(1...payloadCount) : nil
    case .sendsCancelled, .heldAndFinished, .heldAndEventReleased: nil
    }
  }

  func run<Payload: Sendable>(_ travel: Travel<Payload>) async {
    let steps = StepExecutor()
    var event: Event<Payload>? = Event()
    let token = steps.adding { event!.add(handler(travel)) }
    travel.post(to: event!, 1...10)
    switch fate {
    case .held, .heldAndRemoved, .heldAndFinished, .heldAndEventReleased:
      event!.lockAll(where: .oneOf([token]), holding: .oldest(100))
      await steps.run()  // the lane pauses
    default: break
    }
    travel.post(to: event!, 11...payloadCount)
    switch fate {
    case .delivered: break
    case .removed, .heldAndRemoved: event!.removeAll(where: .oneOf([token]))
    case .skipped:
      event!.lockAll(where: .oneOf([token]))
      await steps.run()
      event!.unlockAll(where: .oneOf([token]))
    case .held: event!.unlockAll(where: .oneOf([token]))
    case .finished, .heldAndFinished: event!.finish()
    case .eventReleased, .heldAndEventReleased: event = nil
    case .sendsCancelled:
      for number in 1...payloadCount {
        let isOver = Gate()
        let send = Task { [event] in
          _ = await event!.send(travel.make(number))
          isOver.open()
        }
        send.cancel()
        while !isOver.isOpen { await steps.run() }
        await send.value
      }
    }
    await steps.run()
    withExtendedLifetime(event) {}
  }

  private func handler<Payload: Sendable>(_ travel: Travel<Payload>) -> Handler<Payload> {
    let see: @Sendable (Payload) async -> Void = { travel.see($0) }
    return switch kind {
    case .inOrder: Handler(on: .inOrder, perform: see)
    case .concurrent: Handler(on: .concurrent(limit: 2), perform: see)
    case .task: Handler(on: .task, perform: see)
    case .shared: Handler(on: .lane(HandlerLane("shared")), perform: see)
    case .retrying: Handler(.retrying(.immediately(attempts: 2)), on: .inOrder, perform: see)
    case .bounded: Handler(.buffering(.newest(30)), on: .inOrder, perform: see)
    case .concurrentBounded: Handler(.buffering(.newest(30)), on: .concurrent(limit: 2), perform: see)
    case .restarting: Handler(.cancellingPrevious, on: .inOrder, perform: see)
    case .full: Handler(.buffering(.newest(3)), on: .inOrder, perform: see)
    case .concurrentFull: Handler(.buffering(.oldest(3)), on: .concurrent(limit: 2), perform: see)
    case .suspending: Handler(.buffering(.suspendingSender(3)), on: .inOrder, perform: see)
    }
  }
}
