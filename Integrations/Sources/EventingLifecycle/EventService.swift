public import Eventing
public import ServiceLifecycle
import Synchronization

/// A service whose graceful shutdown ends events after all that was sent has gone its whole way.
///
///     let events = EventService(orders, payments) { names in logger.warning("stuck: \(names)") }
///
/// A service group shuts services down in the reverse order of their list. So list this service
/// before the services that send. Then those services end first, and this one handles their last
/// occurrences.
///
/// On a graceful shutdown the service waits for the handlers of its events, over and over, until
/// one wait for all of them has brought no new occurrence. Only then it finishes the events. So
/// what handlers and forwards still send from one of the events to another, or to the same one, is
/// handled, too. It does not matter in which order the events are listed. Attempts of
/// ``Eventing/HandlerOption/retrying(_:if:clock:)`` and their delays count as calls. Later posts do
/// not: the end of an event cancels them.
///
/// The wait ends at the limit. Then the service finishes the events at once: earlier occurrences
/// are still delivered, but what their handlers send to these events is lost. If the task is
/// cancelled, the service finishes the events and does not wait.
public struct EventService: Service {
  /// An event or a bus that the service finishes and for whose handlers it waits.
  private struct Drained: Sendable {
    let name: String
    /// Counts the occurrences from now on, until the returned closure is called.
    let count: @Sendable (Arrivals) -> @Sendable () -> Void
    /// Waits for the handlers.
    let quiesce: @Sendable () async -> Void
    let finish: @Sendable () -> Void
  }

  private let drained: [Drained]
  private let limit: Duration
  private let clock: any Clock<Duration>
  private let onTimeout: @Sendable ([String]) -> Void

  /// Creates a service for events.
  ///
  /// Give it all events that send to one another: it cannot wait for the handlers of others.
  ///
  /// - Parameters:
  ///   - events: The events, in any order. The service retains them. At the shutdown, it waits for
  ///     their handlers, and then finishes the events.
  ///   - limit: The longest wait for handlers.
  ///   - clock: The clock of the limit.
  ///   - onTimeout: A closure that receives the names of the events whose handlers still run at the
  ///     limit, or when the task is cancelled during the wait. These handlers are not stopped.
  public init(
    _ events: any HandlerRegistry..., drainingWithin limit: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock(), onTimeout: @escaping @Sendable ([String]) -> Void = { _ in }
  ) {
    drained = events.map { event in
      Drained(
        name: event.name ?? "\(event)",
        count: { arrivals in
          let observation = event.observe(with: arrivals)
          return { observation.end() }
        }, quiesce: { await event.quiesce() }, finish: { event.finish() })
    }
    self.limit = limit
    self.clock = clock
    self.onTimeout = onTimeout
  }

  /// Creates a service for a bus.
  ///
  /// - Parameters:
  ///   - bus: The bus. It is retained. At the shutdown, the service waits for the handlers of all
  ///     its events, including events that are made during the wait, and then finishes the bus.
  ///   - limit: The longest wait for handlers.
  ///   - clock: The clock of the limit.
  ///   - onTimeout: A closure that receives `["bus"]` if handlers still run at the limit, or when
  ///     the task is cancelled during the wait. These handlers are not stopped.
  public init(
    _ bus: EventBus, drainingWithin limit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock(),
    onTimeout: @escaping @Sendable ([String]) -> Void = { _ in }
  ) {
    drained = [
      Drained(
        name: "bus",
        count: { arrivals in
          // This handler comes before all others, so that none of them can stop an occurrence
          // before the occurrence is counted.
          let token = bus.all(as: (any Sendable).self).addHandler(.priority(.max)) { _ in arrivals.add() }
          return { bus.remove(token) }
        }, quiesce: { await bus.quiesce() }, finish: { bus.finish() })
    ]
    self.limit = limit
    self.clock = clock
    self.onTimeout = onTimeout
  }

  /// Waits for the shutdown, then until nothing is on its way through the events or the bus, or
  /// until the limit, and finishes them.
  ///
  /// - Throws: A `CancellationError` when the task is cancelled before the shutdown.
  public func run() async throws {
    do {
      try await gracefulShutdown()
    } catch {
      for each in drained { each.finish() }
      throw error
    }
    let unfinished = await drain()
    if !unfinished.isEmpty { onTimeout(unfinished) }
  }

  /// Waits for the handlers until the limit, and finishes the events or the bus. Returns the names
  /// of those whose handlers still run then.
  private func drain() async -> [String] {
    if drained.isEmpty { return [] }
    let arrivals = Arrivals()
    let ends = drained.map { $0.count(arrivals) }
    let (ended, continuation) = AsyncStream.makeStream(of: Int?.self)
    let timer = Task(executorPreference: EventContext.executor) { [clock, limit] in
      try? await clock.sleep(for: limit)
      continuation.yield(nil)
    }
    var left: Set<Int> = []
    var steps = ended.makeAsyncIterator()
    // Each round waits for all calls that run at its beginning. If no occurrence has come during a
    // round, those calls have sent nothing, and so nothing runs after it.
    rounds: repeat {
      let before = arrivals.value
      left = Set(drained.indices)
      // The tasks are not child tasks. A task group would wait for them, and a wait for handlers
      // cannot be cancelled.
      for (index, each) in drained.enumerated() {
        Task(executorPreference: EventContext.executor) {
          await each.quiesce()
          continuation.yield(index)
        }
      }
      while !left.isEmpty {
        guard let step = await steps.next(), let index = step else { break rounds }
        left.remove(index)
      }
      if arrivals.value == before { break }
    } while true
    timer.cancel()
    for end in ends { end() }
    for each in drained { each.finish() }
    return left.sorted().map { drained[$0].name }
  }
}

/// Counts the occurrences of several events.
private final class Arrivals: EventObserver {
  private let count = Atomic<Int>(0)
  var value: Int { count.load(ordering: .acquiring) }
  func add() { count.add(1, ordering: .acquiringAndReleasing) }
  func observe(_ step: EventStep) { if step.kind == .accepted { add() } }
}
