import Combine
import Synchronization

/// A subscriber that requests the demand that a test chooses, and records what it receives.
///
/// Calls that overlap, and calls after the completion, are recorded as faults.
final class Demanding<Input: Sendable>: Subscriber, Sendable {
  typealias Failure = Never
  struct Log: Sendable {
    var values: [Input] = []
    var completions = 0
    var faults: [String] = []
  }
  /// The subscription. Combine does not mark subscriptions as Sendable.
  // Safe: any thread may use the subscriptions of the bridge.
  private struct Held: @unchecked Sendable {
    let subscription: any Subscription
  }
  private let first: Subscribers.Demand
  private let then: @Sendable (Demanding, Input) -> Subscribers.Demand
  private let held = ConditionLock<Held?>(nil)
  private let log = ConditionLock(Log())
  private let isCalled = Atomic<Bool>(false)

  /// Creates a subscriber.
  ///
  /// - Parameters:
  ///   - first: The demand that the subscriber requests when it receives its subscription.
  ///   - then: A closure that `receive` calls with each value, and that returns the further demand.
  init(
    _ first: Subscribers.Demand, then: @escaping @Sendable (Demanding, Input) -> Subscribers.Demand = { _, _ in .none }
  ) {
    self.first = first
    self.then = then
  }

  var values: [Input] { log.withLock { $0.values } }
  var completions: Int { log.withLock { $0.completions } }
  var faults: [String] { log.withLock { $0.faults } }

  func request(_ demand: Subscribers.Demand) { held.withLock { $0 }?.subscription.request(demand) }
  func cancel() { held.withLock { $0 }?.subscription.cancel() }
  /// Releases the values that were received.
  func forget() {
    let values = log.withLock { log in
      defer { log.values = [] }
      return log.values
    }
    withExtendedLifetime(values) {}
  }
  /// Releases the subscription.
  func drop() { held.withLock { $0 = nil } }

  func receive(subscription: any Subscription) {
    let new = Held(subscription: subscription)
    held.withLock { $0 = new }
    if first > 0 { subscription.request(first) }
  }

  func receive(_ input: Input) -> Subscribers.Demand {
    inside {
      log.withLock {
        if $0.completions > 0 { $0.faults.append("a value after the completion") }
        $0.values.append(input)
      }
      return then(self, input)
    }
  }

  func receive(completion: Subscribers.Completion<Never>) {
    inside { log.withLock { $0.completions += 1 } }
  }

  private func inside<Result>(_ body: () -> Result) -> Result {
    if isCalled.exchange(true, ordering: .acquiringAndReleasing) { log.withLock { $0.faults.append("an overlap") } }
    defer { isCalled.store(false, ordering: .releasing) }
    return body()
  }
}

/// Runs a closure in several tasks at once, and waits for all.
func concurrently(_ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void) async {
  await withTaskGroup(of: Void.self) { group in
    for index in 0..<count { group.addTask { body(index) } }
  }
}
