import Synchronization

/// Starts and stops traces, and makes files in Chrome's trace format of the records that the app
/// sent.
public final class TraceCollector: Sendable {
  private let traces = Mutex<[Int: Records]>([:])
  /// The largest number of bytes that are kept of one trace.
  public static let largest = 256 << 20

  private struct Records {
    /// The connection whose app runs the trace. An app that is started again numbers its traces
    /// from 1 again.
    let session: AppSession
    var slices: [JSONSlice] = []
    var bytes = 0
    /// The task that stops the trace at its time limit; `nil` without a limit, and as soon as
    /// `stop` is called.
    var limit: Task<Void, Never>?
  }

  public init() {}

  /// Starts a trace.
  ///
  /// - Parameters:
  ///   - events: The ids of the events, at least one.
  ///   - megabytes: The size of the ring in the app.
  ///   - limit: The time within which `stop` must be called; `nil` for no limit. If it is not
  ///     called, for example because the page was closed, the collector stops the trace itself and
  ///     drops the records.
  /// - Returns: The number of the trace, and the size of its ring, in megabytes.
  /// - Throws: `LinkError` if the app refuses.
  public func start(
    _ session: AppSession, events: [Int], megabytes: Int, limit: Duration? = nil
  ) async throws -> (trace: Int, megabytes: Int) {
    let answer = try await session.request(
      "trace", [("action", "\"start\""), ("events", "\(events)"), ("megabytes", "\(megabytes)")])
    let members = answer.last?.members ?? [:]
    guard let trace = members["trace"]?.int else { throw LinkError("the app gave the trace no number") }
    traces.withLock { traces in
      var records = Records(session: session)
      records.limit = limit.map { limit in
        Task {
          do { try await Task.sleep(for: limit) } catch { return }
          await self.drop(trace, of: session)
        }
      }
      traces[trace]?.limit?.cancel()
      traces[trace] = records
    }
    return (trace, members["megabytes"]?.int ?? megabytes)
  }

  /// Stops a trace at its time limit, and drops its records, unless `stop` was called.
  private func drop(_ trace: Int, of session: AppSession) async {
    let isLeft = traces.withLock { traces in
      guard let records = traces[trace], records.session === session, records.limit != nil else { return false }
      traces[trace] = nil
      return true
    }
    // `isLeft` is true if `stop` was not called for this trace. An error of `stop` is ignored: if
    // the app has ended, its trace has ended, too.
    if isLeft { _ = try? await stop(trace, of: session) }
  }

  /// Removes and returns the records of a session's trace; `nil` if this collector has none of it.
  private func take(_ trace: Int, of session: AppSession) -> Records? {
    traces.withLock { traces in traces[trace]?.session === session ? traces.removeValue(forKey: trace) : nil }
  }

  private func stop(_ trace: Int, of session: AppSession) async throws -> [JSONSlice] {
    try await session.request("trace", [("action", "\"stop\""), ("trace", "\(trace)")])
  }

  /// Keeps records that the app pushed. Records of a trace that this collector has not started are
  /// ignored.
  public func add(_ records: JSONSlice, to trace: Int) {
    traces.withLock { traces in
      guard traces[trace] != nil else { return }
      traces[trace]?.bytes += records.bytes.count
      traces[trace]?.slices.append(records)
      // Drops the records of a trace that is too large. `stop` then throws an error.
      if traces[trace]!.bytes > Self.largest { traces[trace]?.slices = [] }
    }
  }

  /// Stops a trace.
  ///
  /// - Parameter events: The rows of events, for the header of the file.
  /// - Returns: The text of the file.
  /// - Throws: `LinkError` if the app refuses or has ended, or if the trace has more than `largest`
  ///   bytes.
  public func stop(_ session: AppSession, trace: Int, events: [JSONSlice]) async throws -> TraceFile {
    traces.withLock { traces in
      guard traces[trace]?.session === session else { return }
      traces[trace]?.limit?.cancel()
      traces[trace]?.limit = nil
    }
    defer { _ = take(trace, of: session) }
    let answer = try await stop(trace, of: session)
    let overwritten = answer.last?.members?["overwritten"]?.int ?? 0
    let records = take(trace, of: session) ?? Records(session: session)
    guard records.bytes <= Self.largest else { throw LinkError("the trace has more than \(Self.largest) bytes") }
    let lists = records.slices.compactMap { slice -> String? in
      let inner = String(decoding: slice.bytes.dropFirst().dropLast(), as: UTF8.self)
      return slice.bytes.first != UInt8(ascii: "[") || inner.allSatisfy(\.isWhitespace) ? nil : inner
    }
    let rows = events.map { row in
      let members = row.members ?? [:]
      let keys = ["id", "name", "type"].map { key in
        "\"\(key)\":" + (members[key].map { String(decoding: $0.bytes, as: UTF8.self) } ?? "null")
      }
      return "{\(keys.joined(separator: ","))}"
    }
    let header = #"{"protocol":1,"overwritten":\#(overwritten),"events":[\#(rows.joined(separator: ","))]}"#
    let text =
      #"{"displayTimeUnit":"ns","otherData":\#(header),"traceEvents":["# + "\n"
      + lists.joined(separator: ",\n") + "\n]}\n"
    return TraceFile(text: text, count: answer.last?.members?["count"]?.int ?? 0, overwritten: overwritten)
  }
}

/// A trace in Chrome's format, for Perfetto and chrome://tracing.
public struct TraceFile: Sendable {
  /// The text of the file.
  public let text: String
  /// The number of records, as the app counted them.
  public let count: Int
  /// The number of records that newer ones replaced, because the ring in the app was full.
  public let overwritten: Int
}
