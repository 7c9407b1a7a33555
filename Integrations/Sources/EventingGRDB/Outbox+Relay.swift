import Eventing
public import EventingTransport
import Foundation
import GRDB

extension Outbox {
  /// Publishes the messages of the outbox, until the task is cancelled.
  ///
  /// A message is read, published with its id, and deleted when the engine has acknowledged it.
  /// Then the next message follows. While the engine is unreachable, the relay retries the oldest
  /// message, and posts to ``incidents``. A transaction that appends a message through the database
  /// object of this outbox wakes the relay. For all other messages, such as those of other
  /// processes, the relay polls at an interval.
  ///
  /// **One relay at a time.** Relays of one outbox exclude each other by a lock on a file beside
  /// the database. The system releases the lock when a process ends, even by a crash. A relay that
  /// finds the lock taken waits, and tries again at the interval. The file is never deleted. Relays
  /// of a database in memory exclude each other within the process.
  ///
  /// - Parameters:
  ///   - target: The remote event. On a plain transport, which acknowledges nothing, messages may
  ///     be lost.
  ///   - interval: The time between two polls for messages, and between two attempts to take the
  ///     lock.
  ///   - shortest: The delay after the first failed attempt. Each further delay is twice the one
  ///     before, up to `longest`.
  ///   - longest: The longest delay.
  ///   - clock: The clock of the interval and of the delays.
  /// - Throws: An error of the database, ``OutboxError``, or a `TransportError` that no retry could
  ///   mend, and that concerns every message: the transport was closed (`closed`), or no stream
  ///   stores the subject of `target` (`badSubject`). The messages stay. Returns without an error
  ///   when the task is cancelled.
  public func relay(
    to target: RemoteEvent<Payload>, pollingEvery interval: Duration = .seconds(1),
    retryingAfter shortest: Duration = .milliseconds(100), upTo longest: Duration = .seconds(30),
    clock: any Clock<Duration> = ContinuousClock()
  ) async throws {
    do {
      let lock = try await RelayLock.take(name, in: database, lookingEvery: interval, clock)
      defer { lock.release() }
      let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let observation = try await observeAppends { continuation.yield() }
      defer { observation.cancel() }
      let pace = RelayPace(shortest: shortest, longest: longest, clock: clock)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          while true {
            try await clock.sleep(for: min(interval, .hundredYears))
            continuation.yield()
          }
        }
        defer { group.cancelAll() }
        try await publishAll(to: target, pace)
        for await _ in wakes { try await publishAll(to: target, pace) }
      }
    } catch is CancellationError where Task.isCancelled {}
  }

  /// Calls a closure after each transaction that changes the table through this database object.
  ///
  /// The observation is started on the queue of the writer. Elsewhere, `start` would wait for that
  /// queue, and block a thread of Swift's pool.
  private func observeAppends(_ wake: @escaping @Sendable () -> Void) async throws -> AnyDatabaseCancellable {
    let observation = DatabaseRegionObservation(tracking: Table(EventingTables.outbox))
    return try await database.writeWithoutTransaction { [database] _ in
      observation.start(in: database, onError: { _ in }, onChange: { _ in wake() })
    }
  }

  /// Publishes the waiting messages, the oldest first, and deletes each or sets it aside, until
  /// none waits.
  private func publishAll(to target: RemoteEvent<Payload>, _ pace: RelayPace) async throws {
    while let message = try await next(pace) {
      try afterStep(.read)
      guard let (fault, attempts) = try await publish(message, to: target, pace) else {
        try afterStep(.published)
        // The engine has the message, so the message must be deleted even if this task was
        // cancelled meanwhile. A new task, which nothing cancels, deletes the message.
        try await Task { try await write(pace) { try message.delete(in: $0) } }.value
        try afterStep(.deleted)
        continue
      }
      try await write(pace) { try message.setAside("\(fault)", in: $0) }
      incidentEvent.post(
        OutboxIncident(kind: .setAside, outbox: name, id: message.id, attempts: attempts, error: fault))
    }
  }

  /// Publishes a message, and retries until the engine has acknowledged it.
  ///
  /// - Returns: `nil` after the acknowledgement. If no retry can publish the message as it is, the
  ///   fault and the number of failed attempts.
  private func publish(
    _ message: OutboxMessage, to target: RemoteEvent<Payload>, _ pace: RelayPace
  ) async throws -> (fault: any Error, attempts: Int)? {
    let (payload, headers): (Payload, [String: String])
    do {
      payload = try JSONDecoder().decode(Payload.self, from: message.payload)
      headers = try JSONDecoder().decode([String: String].self, from: message.headers)
    } catch { return (OutboxError(.notDecodable, "expected a \(Payload.self); \(withoutContent(error))"), 0) }
    var attempts = 0
    while true {
      try Task.checkCancellation()
      do {
        // A duplicate is an earlier attempt of this relay, or of one that died after it.
        _ = try await target.publish(payload, id: message.id, headers: headers)
        return nil
      } catch let error as TransportError where endingCodes.contains(error.code) {
        throw error
      } catch let error as TransportError where error.isLasting {
        return (error, attempts + 1)
      } catch {
        try Task.checkCancellation()
        attempts += 1
        incidentEvent.post(
          OutboxIncident(kind: .retried, outbox: name, id: message.id, attempts: attempts, error: error))
        try await pace.pause(after: attempts)
      }
    }
  }

  /// Reads the oldest message that waits to be published.
  private func next(_ pace: RelayPace) async throws -> OutboxMessage? {
    try await patiently(pace) { [name, database] in
      try await database.read { db in try OutboxMessage.first(of: name, in: db) }
    }
  }

  /// Calls a closure in a transaction that may write.
  private func write(_ pace: RelayPace, _ body: @escaping @Sendable (Database) throws -> Void) async throws {
    try await patiently(pace) { [database] in try await database.write(body) }
  }

  /// Performs a database operation, and retries while another connection keeps the database busy.
  private func patiently<Result: Sendable>(
    _ pace: RelayPace, _ body: () async throws -> Result
  ) async throws -> Result {
    var attempts = 0
    while true {
      do { return try await body() } catch let error as DatabaseError where error.isBusy {
        attempts += 1
        incidentEvent.post(
          OutboxIncident(kind: .databaseBusy, outbox: name, id: nil, attempts: attempts, error: error))
        try await pace.pause(after: attempts)
      }
    }
  }
}

/// Returns what a decoder says without the text that it has read, because an incident never
/// contains the payload.
private func withoutContent(_ error: any Error) -> String {
  guard let error = error as? DecodingError else { return "the decoder threw a \(type(of: error))" }
  func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : " at \(path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."))"
  }
  return switch error {
  case .typeMismatch(let type, let context): "there is no \(type)\(place(context.codingPath))"
  case .valueNotFound(let type, let context): "a \(type) is missing\(place(context.codingPath))"
  case .keyNotFound(let key, let context): "\(key.stringValue) is missing\(place(context.codingPath))"
  case .dataCorrupted(let context): "what is there cannot be decoded\(place(context.codingPath))"
  @unknown default: "the decoder threw a DecodingError"
  }
}

/// The codes of errors that concern every message: the relay would stand still for ever.
private let endingCodes: Set<TransportError.Code> = [.closed, .badSubject, .notPromised, .streamDiffers]

/// The delays of a relay.
struct RelayPace: Sendable {
  let shortest: Duration
  let longest: Duration
  let clock: any Clock<Duration>

  /// Waits before the next attempt. After the first failed attempt, waits for `shortest`. Each
  /// further failure doubles the time, at most 20 times, up to `longest`.
  ///
  /// - Parameter attempts: The number of attempts that have failed in a row.
  func pause(after attempts: Int) async throws {
    var delay = min(max(shortest, .zero), longest)
    for _ in 0..<min(attempts - 1, 20) { delay = delay > longest / 2 ? longest : delay * 2 }
    try await clock.sleep(for: min(delay, .hundredYears))
  }
}

extension Duration {
  /// The longest sleep. Clocks compute deadlines in 64 bits, and stop the program if a sum
  /// overflows.
  static let hundredYears = Duration.seconds(100 * 366 * 86_400)
}

extension DatabaseError {
  /// Whether another connection keeps the database busy.
  fileprivate var isBusy: Bool { resultCode == .SQLITE_BUSY || resultCode == .SQLITE_LOCKED }
}
