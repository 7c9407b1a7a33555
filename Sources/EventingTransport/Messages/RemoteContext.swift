public import Eventing
import Synchronization

/// Propagates task-local values in the headers of messages.
///
///     RemoteContext.propagate(Trace.$current, header: "traceparent") { trace in
///       trace.text
///     } decode: { text in
///       Trace(text)
///     }
public enum RemoteContext {
  struct Entry: Sendable {
    let id: Int
    let inject: @Sendable (inout [String: String]) throws -> Void
    let bind: @Sendable ([String: String], () -> Void) -> Void
    let bindTask: @Sendable ([String: String], () async -> Void) async -> Void
  }

  struct Registry: Sendable {
    var entries: [Entry] = []
    var lastID = 0
  }

  static let registry = Guarded(Registry())
  /// In a program that never calls `propagate`, no message locks the mutex.
  private static let isOn = Atomic<Bool>(false)

  /// Propagates a task-local value with every message that is published from now on.
  ///
  /// `publish` reads the value in its task and writes the header, unless the caller passes a header
  /// of that name. Handlers in other processes see the decoded value. ``Eventing/EventContext``
  /// carries the value within this process, so that handlers on lanes see it, too. Any thread may
  /// call this method.
  ///
  /// - Parameters:
  ///   - value: The projected value of the task-local, such as `Trace.$current`.
  ///   - header: The name of the header. If it cannot be sent, or belongs to the library, each
  ///     `publish` that would write it throws ``TransportError/Code/badHeader``.
  ///   - encode: A closure that makes the text of the header. If it returns `nil`, no header is
  ///     written. Line breaks and control characters become spaces.
  ///   - decode: A closure that makes the value from the text. If it returns `nil`, the value is
  ///     not changed.
  /// - Returns: A registration whose `end()` stops this.
  @discardableResult public static func propagate<Value: Sendable>(
    _ value: TaskLocal<Value>, header: String, encode: @escaping @Sendable (Value) -> String?,
    decode: @escaping @Sendable (String) -> Value?
  ) -> EventRegistration {
    let inject: @Sendable (inout [String: String]) throws -> Void = { [isGood = isGood(header)] headers in
      guard headers[header] == nil, let text = encode(value.get()) else { return }
      guard isGood else {
        throw TransportError(
          .badHeader,
          "expected a header of your own for RemoteContext.propagate, of visible ASCII characters without a colon; got \(shown(header))"
        )
      }
      headers[header] = headerValue(text)
    }
    let bind: @Sendable ([String: String], () -> Void) -> Void = { headers, body in
      guard let found = headers[header].flatMap(decode) else { return body() }
      value.withValue(found, operation: body)
    }
    let bindTask: @Sendable ([String: String], () async -> Void) async -> Void = { headers, body in
      guard let found = headers[header].flatMap(decode) else { return await body() }
      await value.withValue(found, operation: body)
    }
    let id = registry.withLock { registry in
      registry.lastID += 1
      registry.entries.append(Entry(id: registry.lastID, inject: inject, bind: bind, bindTask: bindTask))
      return registry.lastID
    }
    _ = isOn.exchange(true, ordering: .acquiringAndReleasing)
    let inProcess = EventContext.propagate(value)
    return EventRegistration {
      // `gone` is released after the unlock: its closures' captures may run user code in `deinit`.
      let gone = registry.withLock { registry in
        defer { registry.entries.removeAll { $0.id == id } }
        return registry.entries.filter { $0.id == id }
      }
      withExtendedLifetime(gone) {}
      inProcess.end()
    }
  }

  /// Copied one by one under the mutex: the registry changes its array in place, and the thread
  /// sanitizer doesn't see the reference count that would protect a shared one.
  private static var entries: [Entry] {
    isOn.load(ordering: .acquiring) ? registry.withLock { $0.entries.map { entry in entry } } : []
  }

  /// Writes the headers of the carried values.
  static func inject(into headers: inout [String: String]) throws {
    for entry in entries { try entry.inject(&headers) }
  }

  private static func isGood(_ header: String) -> Bool { (try? checkHeaders([header: ""])) != nil }

  /// Runs a closure with the task-local values that the headers of a message carry.
  static func extract(_ headers: [String: String], _ body: () -> Void) {
    bind(entries[...], headers, body)
  }

  /// Runs an asynchronous closure with the task-local values that the headers of a message carry.
  static func extract(_ headers: [String: String], _ body: () async -> Void) async {
    await bind(entries[...], headers, body)
  }

  private static func bind(
    _ entries: ArraySlice<Entry>, _ headers: [String: String], _ body: () async -> Void
  ) async {
    guard let first = entries.first else { return await body() }
    await first.bindTask(headers) { await bind(entries.dropFirst(), headers, body) }
  }

  private static func bind(_ entries: ArraySlice<Entry>, _ headers: [String: String], _ body: () -> Void) {
    guard let first = entries.first else { return body() }
    first.bind(headers) { bind(entries.dropFirst(), headers, body) }
  }
}
