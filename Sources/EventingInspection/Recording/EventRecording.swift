public import Eventing
public import Foundation

/// Writes the occurrences of events to a file, from which an ``EventPlayback`` sends them again.
///
///     let recording = try EventRecording(to: "monday.jsonl")
///     recording.record(orders, as: "orders")
///     recording.record(signal: cancelled, as: "cancelled")
///     // …
///     let count = try await recording.end()
///
/// Each occurrence has a line in the file, a JSON object: its time, its sender, the occurrence
/// whose handler sent it, and the payload. The lines of all events stand in one order, in which the
/// deliveries began.
///
/// A recording is no handler: reports, `unhandled` and the number of handlers are as without one.
/// While an event is recorded it has no fast path: each occurrence is enqueued, as for an observer.
/// Payloads are encoded on the thread that delivers, before the handlers are called, and no mutex
/// is held meanwhile. The file has mode 0600, since it holds payloads.
///
/// A delivery writes its line itself if no other thread writes. Then the line is in the file when
/// the handlers are called. But a disk that stands still holds that delivery until the write ends,
/// and with it the event. Other events go on.
///
/// If the file takes lines too slowly, at most 16 MB wait for it in memory. Further occurrences are
/// not recorded but counted: see ``lostCount``. The file shows each gap, and a replay refuses
/// such a file unless it is told to skip damage.
///
/// To find the occurrence whose handler sent another one, a recording remembers at most the last
/// million occurrences and the last million calls. By the size of their entries, the two tables may
/// take 90 MB.
///
/// Releasing a recording ends it, as ``end()`` does.
public final class EventRecording: Sendable {
  private let journal: Journal
  private let tracings = Guarded<[EventTracing]?>([])

  /// Creates the file. A file that is there is replaced.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - clock: The clock of the times in the file.
  /// - Throws: An ``InspectionError`` if the file cannot be created.
  public convenience init(to path: String, clock: any Clock<Duration> = ContinuousClock()) throws {
    self.init(Journal(try RecordingFile(creating: path), timedBy: clock))
  }

  /// Creates the file. A file that is there is replaced.
  ///
  /// - Parameters:
  ///   - file: The location of the file.
  ///   - clock: The clock of the times in the file.
  /// - Throws: An ``InspectionError`` if the file cannot be created.
  public convenience init(to file: URL, clock: any Clock<Duration> = ContinuousClock()) throws {
    try self.init(to: file.path, clock: clock)
  }

  /// For tests.
  package convenience init(appendingTo path: String) throws {
    self.init(Journal(try RecordingFile(appendingTo: path), timedBy: ContinuousClock()))
  }

  private init(_ journal: Journal) { self.journal = journal }

  /// The number of occurrences that are missing in the file, since they came faster than they could
  /// be written.
  public var lostCount: Int { journal.lostCount }

  /// For tests.
  package var waitingBytes: Int { journal.waitingBytes }

  deinit {
    endTracings()
    journal.close { _ in }
  }

  /// Records each occurrence of an event from now on.
  ///
  /// Effective for each delivery that begins after the return. Callable from any thread.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - name: The name in the file, by which a replay finds the event. A name is taken once: the
  ///     second event of that name is not recorded, and ``end()`` throws.
  public func record<Payload: Codable & Sendable>(_ event: Event<Payload>, as name: String) {
    record(event, as: name) { payload in payload }
  }

  /// Records each occurrence of an event from now on, with what a closure makes of its payload.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - name: The name in the file: see `record(_:as:)`.
  ///   - encoding: A closure that returns what is stored. It runs on the thread that delivers.
  public func record<Payload: Sendable>(
    _ event: Event<Payload>, as name: String,
    encoding: @escaping @Sendable (Payload) throws -> some Encodable & Sendable
  ) {
    add(event, name, Payload.self) { payload in
      guard let payload = payload.copy(as: Payload.self) else { return [:] }
      return ["payload": try JSONFragment.bytes(encoding(payload))]
    }
  }

  /// Records each occurrence of a signal from now on. Its payload is `null`.
  ///
  /// - Parameters:
  ///   - signal: The signal.
  ///   - name: The name in the file: see `record(_:as:)`.
  public func record(_ signal: Event<Void>, as name: String) {
    add(signal, name, Void.self) { _ in ["payload": JSONFragment.null] }
  }

  /// Records a signal: see `record(_:as:)`.
  public func record(signal: Event<Void>, as name: String) { record(signal, as: name) }

  /// Records each occurrence of a keyed event from now on, with its key.
  ///
  /// - Parameters:
  ///   - event: The keyed event.
  ///   - name: The name in the file: see `record(_:as:)`.
  public func record<Key: Codable, Payload: Codable & Sendable>(_ event: KeyedEvent<Key, Payload>, as name: String) {
    add(event, name, Payload.self) { payload in
      guard let (key, payload) = payload.copy(key: Key.self, as: Payload.self) else { return [:] }
      return ["key": try JSONFragment.bytes(key), "payload": try JSONFragment.bytes(payload)]
    }
  }

  /// Ends the recording: writes the lines that wait, and closes the file.
  ///
  /// Deliveries that begin after the return are not recorded. The method waits until the payloads
  /// of all recorded deliveries that began before are encoded. If the method is called again, it
  /// returns the number or throws the error of the first call.
  ///
  /// - Returns: The number of occurrences in the file.
  /// - Throws: The first error of encoding or writing, or an ``InspectionError`` if a name was used
  ///   twice. Nothing is recorded after an error of encoding or writing; the lines before it can
  ///   be replayed.
  @discardableResult public func end() async throws -> Int {
    endTracings()
    let outcome = await withCheckedContinuation { continuation in
      journal.close { outcome in continuation.resume(returning: outcome) }
    }
    return try outcome.get()
  }

  private func add(
    _ event: some HandlerRegistry, _ name: String, _ type: Any.Type,
    _ encode: @escaping RecordingSink.Encode
  ) {
    guard journal.admit(name, type: String(reflecting: type)) else { return }
    let sink = RecordingSink(name, journal, encode)
    let added = event.handlerTable.inspected.compactMap { $0.trace(with: sink) }
    let isOver = tracings.withLock { tracings in
      tracings?.append(contentsOf: added)
      return tracings == nil
    }
    if isOver { for tracing in added { tracing.end() } }
  }

  private func endTracings() {
    let ended = tracings.withLock { tracings in
      defer { tracings = nil }
      return tracings ?? []
    }
    for tracing in ended { tracing.end() }
  }
}
