import EventingTesting
import Testing

@testable import Eventing

extension TokenTests {
  /// An object that its handler's modifiers use, and that stores the token of that handler.
  private final class Service: Sendable {
    let canary: Canary
    let token = Guarded<HandlerToken?>(nil)
    init(_ live: LiveCount) { canary = Canary(live) }
    func isWorthRetrying(_ error: any Error) -> Bool { !(error is CancellationError) }
    func room(of number: Int) -> Int { number % 10 }
    var clock: some Clock<Duration> { ClockOfService(service: self) }
  }

  private struct ClockOfService: Clock {
    let service: Service
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
  }

  private static let modified: [@Sendable (Service) -> Handler<Int>] = [
    { s in Handler(.retrying(.immediately(attempts: 3), if: { s.isWorthRetrying($0) })) { (_: Int) async throws in } },
    { s in Handler(.retrying(.immediately(attempts: 3), if: { s.isWorthRetrying($0) })) { (_: Int) throws in } },
    { s in Handler(.inOrder(by: { s.room(of: $0) }), on: .concurrent(limit: 4)) { (_: Int) async in } },
    { s in Handler(.inOrder(by: { s.room(of: $0) }), .once, on: .concurrent(limit: 4)) { (_: Int) async in } },
    { s in Handler(.throttled(every: .seconds(1), clock: s.clock)) { (_: Int) async in } },
    { s in Handler(.debounced(for: .seconds(1), clock: s.clock)) { (_: Int) in } },
    { s in Handler(.timingOut(after: .seconds(1), clock: s.clock)) { (_: Int) async in } },
    { s in Handler { _ in }.batched(of: 2, within: .seconds(1), clock: s.clock) },
  ]

  @Test(arguments: 0..<8, ["removed", "finished", "behind a view", "behind removeDuplicates"])
  func aTokenKeepsNothingOfTheModifiers(number: Int, how: String) async {
    let live = LiveCount()
    do {
      let (event, service) = (Event<Int>("e"), Service(live))
      let handler = TokenTests.modified[number](service)
      let token =
        switch how {
        case "behind a view": event.map { $0 + 1 }.add(handler)
        case "behind removeDuplicates": event.removeDuplicates().add(handler)
        default: event.add(handler)
        }
      service.token.withLock { $0 = token }
      event.post(1)
      if how == "removed" { event.remove(token) } else { event.finish() }
      await event.quiesce()
    }
    #expect(await eventually { live.alive == 0 })
  }
}
