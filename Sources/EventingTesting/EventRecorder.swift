public import Eventing

/// Notes what an event sends, in its order, for a test to look at.
///
///     let recorder = EventRecorder(download.progress)
///     await download.start()
///     try await recorder.expect([0.5, 1])
///     try await recorder.expectNone()
///
/// It is a handler: it listens from the moment at which it is made until it goes. What was expected is taken; what came besides stays for the next expectation.
public final class EventRecorder<Payload: Sendable>: @unchecked Sendable {
  /// What arrived, and where the handler ran.
  public struct Entry: Sendable, CustomStringConvertible {
    /// What was sent.
    public let payload: Payload
    /// Where the recorder's handler was called.
    public let lane: RecordedLane
    /// In one line.
    public var description: String { "\(payload) on \(lane)" }
  }

  // Safe: all of the state is guarded by it.
  private let mutex = UnfairMutex()
  @exclusivity(unchecked) private var all: [Entry] = []
  /// How many of them were expected.
  @exclusivity(unchecked) private var taken = 0
  @exclusivity(unchecked) private var waiting: [(count: Int, gate: TestGate)] = []
  private let handlers = HandlerBag()
  private let settle: @Sendable () async -> Void

  /// Listens inline, or on a queue.
  public init(_ source: some EventSource<Payload>, on delivery: Delivery = .inline) {
    settle = EventRecorder.settling(source)
    source.addHandler(on: delivery) { [weak self] payload in self?.note(payload) }.store(in: handlers)
  }

  /// Listens on the main actor.
  public init(_ source: some EventSource<Payload>, on delivery: MainDelivery) {
    settle = EventRecorder.settling(source)
    source.addHandler(on: delivery) { [weak self] payload in self?.note(payload) }.store(in: handlers)
  }

  /// Listens in tasks.
  public init(_ source: some EventSource<Payload>, asynchronouslyOn delivery: AsyncDelivery) {
    settle = EventRecorder.settling(source)
    source.addHandler(on: delivery) { [weak self] payload async in self?.note(payload) }.store(in: handlers)
  }

  private static func settling(_ source: some EventSource<Payload>) -> @Sendable () async -> Void {
    { await (source as? Event<Payload>)?.quiesce() }
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

  // MARK: Looking

  /// All that has arrived, expected or not.
  public var entries: [Entry] { mutex.withLock { unsafe all } }
  /// The payloads of that.
  public var payloads: [Payload] { entries.map(\.payload) }
  /// Forgets all.
  public func removeAll() {
    let gone = mutex.withLock { () -> [Entry] in
      defer {
        unsafe all = []
        for i in unsafe waiting.indices { unsafe waiting[i].count -= taken }  // those that are yet to come
        unsafe taken = 0
      }
      return unsafe all
    }
    withExtendedLifetime(gone) {}
  }

  // MARK: Expecting

  /// Waits until so many more have arrived, and takes them.
  ///
  /// - Parameters:
  ///   - count: how many; below 0 counts as 0.
  ///   - limit: how long to wait.
  ///   - clock: what measures that.
  /// - Throws: ``RecorderError`` if they did not come in time.
  @discardableResult public func expect(
    _ count: Int, within limit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
  ) async throws -> [Payload] {
    let count = max(0, count)
    if let found = take(count) { return found }
    let gate = TestGate()
    let isThere = mutex.withLock { () -> Bool in
      if unsafe all.count >= taken + count { return true }
      unsafe waiting.append((taken + count, gate))
      return false
    }
    if !isThere { await gate.opened(within: limit, clock) }
    mutex.withLock { unsafe waiting.removeAll { $0.gate === gate } }
    if let found = take(count) { return found }
    throw RecorderError(
      "expected \(count) of \(Payload.self) within \(limit); there are \(remaining.count): \(remaining)")
  }

  /// Looks once more at the end of the wait: what was sent has then been delivered.
  private func take(_ count: Int) -> [Payload]? {
    mutex.withLock {
      guard unsafe all.count >= taken + count else { return nil }
      defer { unsafe taken += count }
      return unsafe all[taken..<taken + count].map(\.payload)
    }
  }

  private var remaining: [Payload] { mutex.withLock { unsafe all[taken...].map(\.payload) } }

  /// Throws if anything has arrived that was not expected. What an event was sent before is delivered first; of a view, or a key, only what has arrived is looked at.
  public func expectNone() async throws {
    await settle()
    let rest = remaining
    if !rest.isEmpty { throw RecorderError("expected nothing more of \(Payload.self); there is \(rest)") }
  }
}

extension EventRecorder where Payload: Equatable {
  /// Waits for these payloads, in this order, and takes them.
  ///
  /// - Throws: ``RecorderError`` if others came, or too few in time.
  public func expect(
    _ payloads: [Payload], within limit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
  ) async throws {
    let found = try await expect(payloads.count, within: limit, clock: clock)
    if found != payloads { throw RecorderError("expected \(payloads); came \(found + remaining)") }
  }
}

/// What an ``EventRecorder`` expected and did not find.
public struct RecorderError: Error, CustomStringConvertible {
  /// What was expected, and what there was.
  public let description: String

  init(_ description: String) { self.description = description }
}
