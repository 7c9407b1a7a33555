import Eventing
import Synchronization

/// Limits the number of different names in the dimensions of metrics. A name beyond the limit
/// becomes `other`.
final class BoundedNames: Sendable {
  /// The name that replaces all names beyond the limit.
  static let other = "other"

  private let limit: Int
  private let known = Mutex((events: Set<String>(), handlers: Set<String>()))

  init(limit: Int) { self.limit = limit }

  /// Returns the name of an event; if it has none, its payload type; beyond the limit, `other`.
  func event(_ event: EventIdentity) -> String {
    let name = event.name ?? "\(event.payloadType)"
    return known.withLock { admit(name, to: &$0.events) }
  }

  /// Returns the name of a handler; if it has none, its file and line; beyond the limit, `other`.
  func handler(_ handler: HandlerToken) -> String { self.handler(handler.name, handler.fileID, handler.line) }

  /// Returns the name of a handler; if it has none, its file and line; beyond the limit, `other`.
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
