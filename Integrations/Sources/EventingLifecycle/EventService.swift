public import Eventing
public import ServiceLifecycle

/// A service whose graceful shutdown ends events after their handlers have finished.
///
///     let events = EventService(orders, payments) { names in logger.warning("stuck: \(names)") }
///
/// A service group shuts services down in the reverse order of their list. So list this service
/// before the services that send. Then those services end first, and this one handles their last
/// occurrences.
///
/// On a graceful shutdown the service finishes the events: earlier occurrences are delivered, and
/// later sends reach no handler. The service then waits until no handler runs, or until the limit.
/// If the task is cancelled, the service finishes the events and does not wait.
public struct EventService: Service {
  /// An event or a bus that the service finishes and for whose handlers it waits.
  private struct Drained: Sendable {
    let name: String
    let finish: @Sendable () -> Void
    /// Finishes the event or bus, and waits for its handlers.
    let end: @Sendable () async -> Void
  }

  private let drained: [Drained]
  private let limit: Duration
  private let clock: any Clock<Duration>
  private let onTimeout: @Sendable ([String]) -> Void

  /// Creates a service for events.
  ///
  /// - Parameters:
  ///   - events: The events. The service retains them. At the shutdown, it finishes them and waits
  ///     for their handlers, for all events at the same time.
  ///   - limit: The longest wait for handlers.
  ///   - clock: The clock of the limit.
  ///   - onTimeout: A closure that receives the names of the events whose handlers still run at the
  ///     limit, or when the task is cancelled during the wait. These handlers are not stopped.
  public init(
    _ events: any EventProtocol..., drainingWithin limit: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock(), onTimeout: @escaping @Sendable ([String]) -> Void = { _ in }
  ) {
    drained = events.map { event in
      Drained(name: event.name ?? "\(event)", finish: { event.finish() }) {
        event.finish()
        await event.quiesce()
      }
    }
    self.limit = limit
    self.clock = clock
    self.onTimeout = onTimeout
  }

  /// Creates a service for a bus.
  ///
  /// When a bus finishes, it removes its events, and then nothing can wait for their handlers. So
  /// the service waits for the handlers first, and finishes the bus afterwards. Payloads that are
  /// sent to the bus during that wait are delivered, but the service does not wait for them.
  ///
  /// - Parameters:
  ///   - bus: The bus. It is retained.
  ///   - limit: The longest wait for handlers.
  ///   - clock: The clock of the limit.
  ///   - onTimeout: A closure that receives `["bus"]` if handlers still run at the limit, or when
  ///     the task is cancelled during the wait. These handlers are not stopped.
  public init(
    _ bus: EventBus, drainingWithin limit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock(),
    onTimeout: @escaping @Sendable ([String]) -> Void = { _ in }
  ) {
    drained = [
      Drained(name: "bus", finish: { bus.finish() }) {
        await bus.quiesce()
        bus.finish()
      }
    ]
    self.limit = limit
    self.clock = clock
    self.onTimeout = onTimeout
  }

  /// Waits for the shutdown, and then until the events or the bus have finished and their handlers
  /// no longer run, or until the limit.
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

  /// Finishes the events or the bus, and waits for their handlers until the limit. Returns the
  /// names of those whose handlers still run then.
  private func drain() async -> [String] {
    let (ended, continuation) = AsyncStream.makeStream(of: Int?.self)
    // The tasks are not child tasks. A task group would wait for them, and a wait for handlers
    // cannot be cancelled.
    for (index, each) in drained.enumerated() {
      Task(executorPreference: EventContext.executor) {
        await each.end()
        continuation.yield(index)
      }
    }
    let timer = Task(executorPreference: EventContext.executor) { [clock, limit] in
      try? await clock.sleep(for: limit)
      continuation.yield(nil)
    }
    defer { timer.cancel() }
    var left = Set(drained.indices)
    if left.isEmpty { return [] }
    for await index in ended {
      guard let index else { break }
      left.remove(index)
      if left.isEmpty { break }
    }
    for index in left { drained[index].finish() }  // has no effect on events that have finished
    return left.sorted().map { drained[$0].name }
  }
}
