import Eventing
import Synchronization

/// Limits the number of different names in the dimensions of metrics. When the number of names has
/// reached the limit, `other` replaces each further name. Names of events and names of handlers are
/// counted separately.
final class BoundedNames: Sendable {
  /// The name that replaces each further name when the limit is reached.
  static let other = "other"

  private let limit: Int
  private let known = Mutex((events: Set<String>(), handlers: Set<String>()))

  init(limit: Int) { self.limit = limit }

  /// Returns the name of an event. If the event has no name, returns its payload type instead. If
  /// the name is new and the limit of names is reached, returns `other`.
  func event(_ event: EventIdentity) -> String {
    let name = event.name ?? "\(event.payloadType)"
    return known.withLock { admit(name, to: &$0.events) }
  }

  /// Returns the name of a handler. If the handler has no name, returns its file and line instead.
  /// If the name is new and the limit of names is reached, returns `other`.
  func handler(_ handler: HandlerToken) -> String { self.handler(handler.name, handler.fileID, handler.line) }

  /// Returns the name of a handler. If `name` is `nil`, returns the file and line instead. If the
  /// name is new and the limit of names is reached, returns `other`.
  func handler(_ name: String?, _ fileID: String?, _ line: Int?) -> String {
    let name = name ?? fileID.map { "\($0):\(line ?? 0)" } ?? "unnamed"
    return known.withLock { admit(name, to: &$0.handlers) }
  }

  private func admit(_ name: String, to names: inout Set<String>) -> String {
    if names.contains(name) { return name }
    guard names.count < limit else { return Self.other }
    names.insert(name)
    return name
  }
}
