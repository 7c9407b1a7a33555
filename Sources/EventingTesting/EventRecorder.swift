public import Eventing

/// A recorder of the payloads that an event delivers, in order, for tests.
///
///     let recorder = EventRecorder(download.progress)
///     await download.start()
///     try await recorder.expect([0.5, 1])
///     try await recorder.expectNone()
///
/// A recorder adds a handler, which records everything that is sent until the recorder is released.
/// An expectation takes as many payloads as it expects. Later payloads stay for the next
/// expectation. If several expectations wait, they get payloads in the order in which they began.
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

  /// The handler's closure retains this object, so `deinit` runs when the handler ends.
  private final class HandlerEnd: Sendable {
    weak let recorder: EventRecorder?
    init(_ recorder: EventRecorder) { self.recorder = recorder }
    deinit { recorder?.end() }
  }

  private final class Waiter {
    let count: Int
    let gate = TestGate()
    /// `nil` while there are too few. Guarded by: the recorder's mutex.
    var found: [Payload]?

    init(_ count: Int) { self.count = count }
  }

  // Safe: the mutex guards all mutable state.
  private let mutex = UnfairMutex()
  // Guarded by: mutex.
  @exclusivity(unchecked) private var all: [Entry] = []
  /// Entries that expectations have taken. Guarded by: mutex.
  @exclusivity(unchecked) private var taken = 0
  /// The oldest expectation comes first. Guarded by: mutex.
  @exclusivity(unchecked) private var waiting: [Waiter] = []
  /// The handler was removed, or the event has ended. Guarded by: mutex.
  @exclusivity(unchecked) private var hasEnded = false
  private let handlers = HandlerBag()
  private let source: any EventSource<Payload>
  /// For a view, the event behind it. Set before the recorder is shared.
  @exclusivity(unchecked) private var event: EventReference?

  /// Creates a recorder with a synchronous handler.
  ///
  /// - Parameters:
  ///   - source: The event, view, key or observed value to record.
  ///   - delivery: Where the handler runs.
  public init(_ source: some EventSource<Payload>, on delivery: SyncDelivery = .inline) {
    self.source = source
    listen(source.addHandler(on: delivery) { [end = HandlerEnd(self)] payload in end.recorder?.note(payload) })
  }

  /// Creates a recorder with a handler on the main actor. In all other respects, works like
  /// ``init(_:on:)-(_,SyncDelivery)``.
  public init(_ source: some EventSource<Payload>, on delivery: MainDelivery) {
    self.source = source
    listen(source.addHandler(on: delivery) { [end = HandlerEnd(self)] payload in end.recorder?.note(payload) })
  }

  /// Creates a recorder with an asynchronous handler. In all other respects, works like
  /// ``init(_:on:)-(_,SyncDelivery)``.
  public init(_ source: some EventSource<Payload>, asynchronouslyOn delivery: AsyncDelivery) {
    self.source = source
    listen(source.addHandler(on: delivery) { [end = HandlerEnd(self)] payload async in end.recorder?.note(payload) })
  }

  private func listen(_ token: HandlerToken) {
    unsafe event = token.event
    token.store(in: handlers)
  }

  private func note(_ payload: Payload) {
    let entry = Entry(payload: payload, lane: .current)
    let served = mutex.withLock { () -> [Waiter] in
      unsafe all.append(entry)
      return serve()
    }
    for waiter in served { waiter.gate.open() }
  }

  /// No payload will arrive any more.
  private func end() {
    let waiters = mutex.withLock {
      unsafe hasEnded = true
      return unsafe waiting
    }
    for waiter in waiters { waiter.gate.open() }
  }

  /// Oldest first, as long as there are enough entries. The caller holds the mutex, and opens the
  /// gates after the unlock.
  private func serve() -> [Waiter] {
    var served: [Waiter] = []
    while let first = unsafe waiting.first, unsafe all.count - taken >= first.count {
      first.found = unsafe all[taken..<taken + first.count].map(\.payload)
      unsafe taken += first.count
      unsafe waiting.removeFirst()
      served.append(first)
    }
    return served
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
        unsafe taken = 0
      }
      return unsafe all
    }
    withExtendedLifetime(gone) {}
  }

  // MARK: Expecting

  /// Takes the oldest payloads that no expectation has taken yet. If there are too few, waits until
  /// enough have arrived.
  ///
  /// - Parameters:
  ///   - count: The number of payloads. A number below 0 counts as 0.
  ///   - limit: The longest time to wait.
  ///   - clock: The clock that measures the limit. `nil` stands for the clock of the caller's
  ///     simulation, and outside of simulations for the continuous clock.
  ///   - fileID: The file of the expectation, for the error.
  ///   - line: The line of the expectation, for the error.
  /// - Returns: The payloads, in the order of their arrival.
  /// - Throws: A ``RecorderError`` if they did not arrive before the limit, the cancellation of the
  ///   task or the end of the recorder's handler, or if they belong to an expectation that began
  ///   earlier and still waits.
  @discardableResult public func expect(
    _ count: Int, within limit: Duration = .seconds(10), clock: (any Clock<Duration>)? = nil,
    fileID: String = #fileID, line: Int = #line
  ) async throws -> [Payload] {
    try await take(count, "\(count) of \(Payload.self)", within: limit, clock, fileID, line)
  }

  private func take(
    _ count: Int, _ expected: String, within limit: Duration, _ clock: (any Clock<Duration>)?, _ fileID: String,
    _ line: Int
  ) async throws -> [Payload] {
    if count <= 0 { return [] }
    let waiter = Waiter(count)
    mutex.withLock {
      unsafe waiting.append(waiter)
      // This call of `serve()` gives entries to the new expectation or to none, so it opens no
      // gate. If older expectations wait, too few entries have arrived for the oldest one. Then
      // `serve()` gives entries to none.
      _ = serve()
    }
    let (known, isOver) = mutex.withLock { unsafe (waiter.found, hasEnded) }
    if let known { return known }
    if isOver { waiter.gate.open() }
    await waiter.gate.opened(within: limit, clock ?? Simulator.current?.clock ?? ContinuousClock())
    let (found, served, rest) = mutex.withLock { () -> ([Payload]?, [Waiter], [Payload]) in
      unsafe waiting.removeAll { $0 === waiter }
      let served = serve()
      return (waiter.found, served, unsafe all[taken...].map(\.payload))
    }
    for next in served { next.gate.open() }
    if let found { return found }
    let others = rest.count < count ? "" : ", for which an earlier expectation waits"
    let end =
      Task.isCancelled
      ? "; the task was cancelled"
      : mutex.withLock { unsafe hasEnded }
        ? "; the recorder's handler was removed, or its event has ended" : " within \(limit)"
    throw RecorderError("expected \(expected)\(end); there are \(rest.count)\(others): \(rest)", fileID, line)
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
  /// - Throws: A ``RecorderError`` with the payloads that were not expected. Also if the recorder's
  ///   handler was removed, so that the recorder has not heard of what was sent since.
  public func expectNone(fileID: String = #fileID, line: Int = #line) async throws {
    unsafe await event?.quiesce()
    let rest = remaining
    if !rest.isEmpty { throw RecorderError("expected nothing more of \(Payload.self); there is \(rest)", fileID, line) }
    if mutex.withLock({ unsafe hasEnded }), unsafe event?.isFinished == false {
      throw RecorderError(
        "expected nothing more of \(Payload.self); the recorder's handler was removed, and hears nothing", fileID, line)
    }
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
  /// - Throws: A ``RecorderError`` with the expectation and the payloads that arrived, if
  ///   they differ, or if too few arrived before the limit or the cancellation of the task.
  public func expect(
    _ payloads: [Payload], within limit: Duration = .seconds(10), clock: (any Clock<Duration>)? = nil,
    fileID: String = #fileID, line: Int = #line
  ) async throws {
    let found = try await take(payloads.count, "\(payloads)", within: limit, clock, fileID, line)
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
