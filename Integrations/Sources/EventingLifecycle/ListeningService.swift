public import EventingTransport
public import ServiceLifecycle

/// A service that listens to a remote event, and drains on a graceful shutdown.
///
///     let billing = ListeningService { try await placed.listen(as: "billing") }
///     let group = ServiceGroup(
///       services: [events, billing], gracefulShutdownSignals: [.sigterm], logger: logger)
///     try await group.run()
///
/// On a graceful shutdown, the service takes no new messages and waits for the handlers of begun
/// ones. At the limit it returns to the engine the messages that are not handled yet. If the task
/// is cancelled, the service returns all begun messages at once.
public struct ListeningService: Service {
  private let limit: Duration
  private let listen: @Sendable () async throws -> Listening

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - limit: The longest wait for handlers on a graceful shutdown.
  ///   - listen: A closure that begins to listen. It is called when the service starts, and retains
  ///     the remote event.
  public init(
    drainingWithin limit: Duration = .seconds(10), _ listen: @escaping @Sendable () async throws -> Listening
  ) {
    self.limit = limit
    self.listen = listen
  }

  /// Listens until the service is shut down or cancelled.
  ///
  /// - Throws: The error of the closure, or a `CancellationError` when the task is cancelled before
  ///   the shutdown.
  public func run() async throws {
    let listening = try await listen()
    do {
      try await gracefulShutdown()
    } catch {
      listening.cancel()
      throw error
    }
    await withTaskCancellationHandler {
      await listening.drain(within: limit)
    } onCancel: {
      listening.cancel()
    }
  }
}
