public import Eventing

/// A recorder of the payloads that an event delivers, in order, for tests.
///
///     let recorder = EventRecorder(download.progress)
///     await download.start()
///     try await recorder.expect([0.5, 1])
///     try await recorder.expectNone()
///
/// A recorder adds a handler, which records everything that is sent until the recorder is released.
/// An expectation takes as many payloads as it expected. Later ones stay for the next expectation.
/// The recorder retains its source. Any thread may use the recorder.
public final class EventRecorder<Payload: Sendable>: @unchecked Sendable {
  /// A recorded payload, and the place where it arrived.
  public struct Entry: Sendable, CustomStringConvertible {
    /// The payload.
    public let payload: Payload
    /// The place where the recorder's handler was called.
    public let lane: RecordedLane
    public var description: String { "\(payload) on \(lane)" }
  }

  // Safe: the mutex guards all mutable state.
  private let mutex = UnfairMutex()
  /// The recorded entries. Guarded by: mutex.
  @exclusivity(unchecked) private var all: [Entry] = []
  /// The number of entries that expectations have taken. Guarded by: mutex.
  @exclusivity(unchecked) private var taken = 0
  /// The waiting expectations, each with the number of entries that ends its wait. Guarded by:
  /// mutex.
  @exclusivity(unchecked) private var waiting: [(count: Int, gate: TestGate)] = []
  private let handlers = HandlerBag()
  private let source: any EventSource<Payload>
  /// The recorded event; for a view, the event behind the view. Set before the recorder is shared.
  @exclusivity(unchecked) private var event: EventReference?

  /// Creates a recorder with a synchronous handler.
  ///
  /// - Parameters:
  ///   - source: The event, view, key or observed value to record.
  ///   - delivery: Where the handler runs.
  public init(_ source: some EventSource<Payload>, on delivery: Delivery = .inline) {
    self.source = source
    listen(source.addHandler(on: delivery) { [weak self] payload in self?.note(payload) })
  }

  /// Creates a recorder with a handler on the main actor. In all other respects, works like
  /// ``init(_:on:)-(_,Delivery)``.
  public init(_ source: some EventSource<Payload>, on delivery: MainDelivery) {
    self.source = source
    listen(source.addHandler(on: delivery) { [weak self] payload in self?.note(payload) })
  }

  /// Creates a recorder with an asynchronous handler. In all other respects, works like
  /// ``init(_:on:)-(_,Delivery)``.
  public init(_ source: some EventSource<Payload>, asynchronouslyOn delivery: AsyncDelivery) {
    self.source = source
    listen(source.addHandler(on: delivery) { [weak self] payload async in self?.note(payload) })
  }

  /// Keeps the handler until the recorder is released.
  private func listen(_ token: HandlerToken) {
    unsafe event = token.event
    token.store(in: handlers)
  }

  private func note(_ payload: Payload) {
    let entry = Entry(payload: payload, lane: .current)
    let due = mutex.withLock { () -> [TestGate] in
      unsafe all.append(entry)
      let count = unsafe all.count
      let due = unsafe waiting.filter { $0.count <= count }.map(\.gate)
      unsafe waiting.removeAll { $0.count <= count }
      return due
    }
    for gate in due { gate.open() }
  }

  // MARK: Reading the entries

  /// All recorded entries, expected or not. They are copied under the mutex, so that the thread
  /// sanitizer reports no race with the next recording.
  ///
  /// - Complexity: O(*n*), where *n* is the number of entries.
  public var entries: [Entry] { mutex.withLock { unsafe all.map { entry in entry } } }
  /// The payloads of all recorded entries, expected or not.
  public var payloads: [Payload] { entries.map(\.payload) }
  /// Removes all recorded entries. An expectation that waits does not count the removed entries: it
  /// waits for as many new payloads as it expects.
  public func removeAll() {
    let gone = mutex.withLock { () -> [Entry] in
      defer {
        unsafe all = []
        // The wait of an expectation ends at `count` entries, including the ones that expectations
        // have taken. These are removed now, so `count` falls by their number.
        for i in unsafe waiting.indices { unsafe waiting[i].count -= taken }
        unsafe taken = 0
      }
      return unsafe all
    }
    withExtendedLifetime(gone) {}
  }

  // MARK: Expecting

  /// Waits until a number of further payloads have arrived, and takes them.
  ///
  /// - Parameters:
  ///   - count: The number of payloads. A number below 0 counts as 0.
  ///   - limit: The longest time to wait.
  ///   - clock: The clock that measures the limit. `nil` stands for the clock of the caller's
  ///     simulation, and outside of simulations for the continuous clock.
  ///   - fileID: The file of the expectation, for the error.
  ///   - line: The line of the expectation, for the error.
  /// - Returns: The payloads, in the order of their arrival.
  /// - Throws: A ``RecorderError`` if they did not arrive in time.
  @discardableResult public func expect(
    _ count: Int, within limit: Duration = .seconds(10), clock: (any Clock<Duration>)? = nil,
    fileID: String = #fileID, line: Int = #line
  ) async throws -> [Payload] {
    let count = max(0, count)
    if let found = take(count) { return found }
    let gate = TestGate()
    let isThere = mutex.withLock { () -> Bool in
      if unsafe all.count >= taken + count { return true }
      unsafe waiting.append((taken + count, gate))
      return false
    }
    if !isThere { await gate.opened(within: limit, clock ?? Simulator.current?.clock ?? ContinuousClock()) }
    mutex.withLock { unsafe waiting.removeAll { $0.gate === gate } }
    if let found = take(count) { return found }
    throw RecorderError(
      "expected \(count) of \(Payload.self) within \(limit); there are \(remaining.count): \(remaining)", fileID, line)
  }

  /// Takes `count` entries if so many have arrived; otherwise takes none and returns `nil`.
  /// `expect` calls this again after its wait, even at the time limit, because the entries may have
  /// arrived at the last moment.
  private func take(_ count: Int) -> [Payload]? {
    mutex.withLock {
      guard unsafe all.count >= taken + count else { return nil }
      defer { unsafe taken += count }
      return unsafe all[taken..<taken + count].map(\.payload)
    }
  }

  private var remaining: [Payload] { mutex.withLock { unsafe all[taken...].map(\.payload) } }

  /// Checks that nothing has arrived that was not expected.
  ///
  /// First waits until everything that was sent before is delivered. For a view, a key or an
  /// observed value, waits for the event behind the source. See `Event.quiesce()`.
  ///
  /// - Parameters:
  ///   - fileID: The file of the expectation, for the error.
  ///   - line: The line of the expectation, for the error.
  /// - Throws: A ``RecorderError`` with the payloads that were not expected.
  public func expectNone(fileID: String = #fileID, line: Int = #line) async throws {
    unsafe await event?.quiesce()
    let rest = remaining
    if !rest.isEmpty { throw RecorderError("expected nothing more of \(Payload.self); there is \(rest)", fileID, line) }
  }
}

extension EventRecorder where Payload: Equatable {
  /// Waits for certain payloads in this order, and takes them.
  ///
  /// - Parameters:
  ///   - payloads: The expected payloads.
  ///   - limit: The longest time to wait.
  ///   - clock: The clock that measures the limit. `nil` stands for the clock of the caller's
  ///     simulation, and outside of simulations for the continuous clock.
  ///   - fileID: The file of the expectation, for the error.
  ///   - line: The line of the expectation, for the error.
  /// - Throws: A ``RecorderError`` if other payloads arrived, or too few arrived in time.
  public func expect(
    _ payloads: [Payload], within limit: Duration = .seconds(10), clock: (any Clock<Duration>)? = nil,
    fileID: String = #fileID, line: Int = #line
  ) async throws {
    let found = try await expect(payloads.count, within: limit, clock: clock, fileID: fileID, line: line)
    if found != payloads { throw RecorderError("expected \(payloads); came \(found + remaining)", fileID, line) }
  }
}

/// An expectation of an ``EventRecorder`` that was not met.
public struct RecorderError: Error, CustomStringConvertible {
  /// The expectation, and what arrived instead, after the file and the line.
  public let description: String
  /// The file of the expectation, as `#fileID` names it.
  public let fileID: String
  /// The line of the expectation.
  public let line: Int

  init(_ text: String, _ fileID: String, _ line: Int) {
    description = "\(fileID):\(line): \(text)"
    self.fileID = fileID
    self.line = line
  }
}
