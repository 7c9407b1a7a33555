public import Eventing
public import Foundation

/// A record of what chosen events did last: occurrences and calls with their lanes and threads, and
/// which call sent which occurrence.
///
///     let trace = EventTrace(of: orders, payments, lastMegabytes: 4)
///     // …
///     try trace.write(to: "run.json")  // opens in Perfetto and in chrome://tracing
///
/// A trace is no handler: reports, `unhandled` and the number of handlers are as without one. While
/// an event is traced it has no fast path: each occurrence is enqueued, as for an observer. The
/// records lie in a ring of fixed size, so that the newest stay. If the trace is read meanwhile, a
/// post waits at most as long as a copy of 64 KB takes.
///
/// If a handler starts a task, the call of the handler is the cause of what the task sends while
/// that call runs. After an inline handler has returned, the cause is the next inline call of the
/// delivery, or none. So do not rely on the causes of what such tasks send.
///
/// Payloads are not recorded, unless ``Inspection/describe(_:as:)`` was given a closure that makes
/// texts of their type. Releasing a trace ends it.
public final class EventTrace: Sendable {
  private struct Traced {
    var events: [EventIdentity] = []
    var tracings: [EventTracing] = []
    /// A time on the ``InspectionClock``.
    var end: UInt64?
  }

  let ring: TraceRing
  private let sink: RingSink
  private let traced = Guarded(Traced())

  /// Begins a trace of deliveries that begin after the return.
  ///
  /// - Parameters:
  ///   - events: What is traced. Events are not kept alive.
  ///   - lastMegabytes: The size of the ring. A number below 1 counts as 1, and one above 64 as 64.
  ///     A megabyte holds about 8,000 calls.
  public convenience init(of events: any HandlerRegistry..., lastMegabytes: Int = 4) {
    self.init(of: events, lastMegabytes: lastMegabytes)
  }

  /// Begins a trace of deliveries that begin after the return.
  ///
  /// - Parameters:
  ///   - events: What is traced. Events are not kept alive.
  ///   - lastMegabytes: The size of the ring: see ``init(of:lastMegabytes:)``.
  public convenience init(of events: [any HandlerRegistry], lastMegabytes: Int = 4) {
    self.init(lastMegabytes: lastMegabytes)
    for event in events { add(event) }
  }

  convenience init(of events: [RegisteredEvent], lastMegabytes: Int) {
    self.init(lastMegabytes: lastMegabytes)
    for event in events { add(event.identity, event.trace(with: sink)) }
  }

  private init(lastMegabytes: Int) {
    ring = TraceRing(megabytes: lastMegabytes)
    sink = RingSink(ring)
    RunningTraces.insert(ring)
  }

  package func add(_ events: any HandlerRegistry) {
    for event in events.handlerTable.inspected where !isTraced(event.identity) {
      add(event.identity, event.trace(with: sink))
    }
  }

  /// A second tracing would record each call twice.
  private func isTraced(_ event: EventIdentity?) -> Bool {
    guard let event else { return false }
    return traced.withLock { traced in traced.events.contains { $0.number == event.number } }
  }

  private func add(_ event: EventIdentity?, _ tracing: EventTracing?) {
    traced.withLock { traced in
      if let event { traced.events.append(event) }
      if let tracing { traced.tracings.append(tracing) }
    }
  }

  deinit { stop() }

  /// Ends the trace. What was recorded stays. Further calls have no effect.
  public func stop() {
    let tracings = traced.withLock { traced in
      traced.end = traced.end ?? InspectionClock.now
      return traced.tracings.map { tracing in tracing }
    }
    for tracing in tracings { tracing.end() }
    RunningTraces.remove(ring)
  }

  /// The number of records: occurrences, calls, and handlers that were not called.
  public var count: Int { ring.count }

  /// The number of records that were overwritten by newer ones.
  public var overwrittenCount: Int { ring.overwritten }

  /// Writes what the trace has now to a file, in Chrome's trace format.
  ///
  /// - Parameter path: The path of the file, which is replaced. Only the user can read the new one.
  /// - Throws: The error of the file system.
  /// - Complexity: O(*n* log *n*) for *n* records.
  public func write(to path: String) throws { try write(to: URL(fileURLWithPath: path)) }

  /// Writes what the trace has now to a file, in Chrome's trace format.
  ///
  /// The file replaces another one when it is whole. Only the user can read it: it may hold texts
  /// of payloads.
  ///
  /// - Parameter file: The location of the file, which is replaced.
  /// - Throws: An ``InspectionError``.
  public func write(to file: URL) throws { try RecordingFile.replace(file.path, with: self.file.bytes) }

  /// Returns what the trace has now, in Chrome's trace format.
  ///
  /// A call that has not ended reaches up to the end of the trace, and its `outcome` is `running`.
  ///
  /// - Complexity: O(*n* log *n*) for *n* records.
  public func json() -> Data { Data(file.bytes) }

  var file: ChromeTraceFile {
    let (events, end) = traced.withLock { traced in (traced.events.map { event in event }, traced.end) }
    return ChromeTraceFile(TraceSpans(ring.contents(), until: end ?? InspectionClock.now), events)
  }
}
