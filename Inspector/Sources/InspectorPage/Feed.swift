import InspectorClient
import Synchronization

/// Receives the messages of the app, and passes them on to each open page of the inspector, as fast
/// as that page reads.
public final class Feed: AppLinkDelegate {
  private let state = Mutex(State())
  /// The traces that pages have started.
  let traces = TraceCollector()
  /// The time for which the collector waits for a page to stop its trace, after the number of
  /// seconds that the page requested.
  let traceGrace: Duration
  /// The largest number of bytes that wait for one page. If more would wait, all waiting messages
  /// are dropped, and the page gets the whole state instead.
  static let most = 4 << 20

  private struct State {
    var model = AppModel()
    /// The message that says whether the app is connected.
    var link = Feed.message("link", #"{"connected":false,"reason":"not connected yet"}"#)
    var readers: [Int: Reader] = [:]
    var lastReader = 0
    var ended = false
  }

  private struct Reader {
    var queue: [String] = []
    var bytes = 0
    /// Whether messages were dropped, so that the next message must contain the whole state.
    var needsAll = true
    var waiting: CheckedContinuation<[UInt8]?, Never>?
  }

  /// Creates a feed without readers.
  public convenience init() { self.init(traceGrace: .seconds(10)) }

  init(traceGrace: Duration) { self.traceGrace = traceGrace }

  public func connected(_ session: AppSession) {
    let hello = String(decoding: session.hello.slice.bytes, as: UTF8.self)
    publish(Self.message("link", #"{"connected":true,"control":\#(session.control),"hello":\#(hello)}"#)) {
      $0.model = AppModel()
      return true
    }
  }

  public func updated(_ update: [String: JSONSlice], _ line: JSONSlice) {
    publish(Self.message("update", String(decoding: line.bytes, as: UTF8.self))) {
      $0.model.apply(update)
      return false
    }
  }

  public func traced(_ records: JSONSlice, of trace: Int) { traces.add(records, to: trace) }

  public func disconnected(_ reason: String) {
    publish(Self.message("link", #"{"connected":false,"reason":\#(reason.asJSON)}"#)) { _ in true }
  }

  /// Sends every page a comment of Server-Sent Events, which the page ignores. If the connection of
  /// the page has ended, the write fails, and so the server notices the end.
  func beat() { publish(": still here\n\n") { _ in false } }

  /// Ends all pages' streams.
  func end() {
    let readers = state.withLock { state in
      state.ended = true
      defer { state.readers = [:] }
      return state.readers.values
    }
    for reader in readers { reader.waiting?.resume(returning: nil) }
  }

  /// The rows of events that have one of the ids.
  func events(_ ids: [Int]) -> [JSONSlice] {
    state.withLock { state in ids.compactMap { state.model.parts["events"]?[.id($0)] } }
  }

  private static func message(_ event: String, _ data: String) -> String { "event: \(event)\ndata: \(data)\n\n" }

  /// Changes the state, and sends a message to every page.
  ///
  /// Waiting tasks are resumed after the mutex of `state` is released. Otherwise a deadlock is
  /// possible. The thread that cancels a task holds the runtime's lock of that task, while the
  /// cancellation handler waits for the mutex. A thread that resumed the task under the mutex could
  /// wait for the runtime's lock.
  ///
  /// - Parameter change: Changes the state. Returns true if the message says whether the app is
  ///   connected. The feed keeps the latest such message for pages that are opened later.
  private func publish(_ message: String, _ change: (inout State) -> Bool) {
    let woken = state.withLock { state in
      var woken: [(CheckedContinuation<[UInt8]?, Never>, [UInt8]?)] = []
      if change(&state) { state.link = message }
      for (id, reader) in state.readers {
        var reader = reader
        if !reader.needsAll {
          reader.queue.append(message)
          reader.bytes += message.utf8.count
          reader.needsAll = reader.bytes > Self.most
        }
        if reader.needsAll { (reader.queue, reader.bytes) = ([], 0) }
        let waiting = reader.waiting
        reader.waiting = nil
        state.readers[id] = reader
        if let waiting { woken.append((waiting, Self.take(id, &state))) }
      }
      return woken
    }
    for (continuation, bytes) in woken { continuation.resume(returning: bytes) }
  }

  /// Removes and returns the messages that wait for a page; `nil` if none wait.
  private static func take(_ id: Int, _ state: inout State) -> [UInt8]? {
    guard let reader = state.readers[id] else { return nil }
    var text = reader.queue.joined()
    if reader.needsAll {
      // The history comes last, because the page takes the counts only of events that it knows, and
      // the update names the events.
      text = state.link + message("update", state.model.asUpdate) + message("history", state.model.history.asJSON)
    }
    state.readers[id]?.queue = []
    state.readers[id]?.bytes = 0
    state.readers[id]?.needsAll = false
    return text.isEmpty ? nil : Array(text.utf8)
  }

  /// The number of pages that read the feed.
  var readerCount: Int { state.withLock { $0.readers.count } }

  func addReader() -> Int {
    state.withLock { state in
      state.lastReader += 1
      state.readers[state.lastReader] = Reader()
      return state.lastReader
    }
  }

  func removeReader(_ id: Int) {
    let reader = state.withLock { $0.readers.removeValue(forKey: id) }
    reader?.waiting?.resume(returning: nil)
  }

  /// Waits for the next messages for a page, and returns them; `nil` when the feed or the page has
  /// ended.
  func next(_ id: Int) async -> [UInt8]? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result: [UInt8]?? = state.withLock { state in
          guard !state.ended, state.readers[id] != nil else { return .some(nil) }
          if let bytes = Self.take(id, &state) { return bytes }
          state.readers[id]?.waiting = continuation
          return .none
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      removeReader(id)
    }
  }
}
