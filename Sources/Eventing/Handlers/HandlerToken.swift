/// The name of one handler of one event. Dropping a token changes nothing.
///
/// A token is a plain value. It keeps neither its event nor the handler's closure alive. If a token
/// is used twice, late, or on another event, the call has no effect and returns `false`. Only
/// ``HandlerRegistry/withLocked(_:holding:_:)``, which has no such result, still runs its body.
public struct HandlerToken: Sendable, Identifiable {
  @usableFromInline let record: HandlerRecord
  @usableFromInline let anchor: EventAnchor

  @inlinable init(_ record: HandlerRecord, _ anchor: EventAnchor) {
    self.record = record
    self.anchor = anchor
  }

  /// A number that no other handler of any event has, had or will have in this process.
  public var id: UInt64 { record.id }

  /// The name of the handler; `nil` if it has none.
  public var name: String? { record.details?.options.name }

  /// Removes the handler, as ``HandlerRegistry/remove(_:)`` of its event does, for code that has
  /// the token and not the event.
  ///
  /// If the event is gone, calls of the handler may still wait on a lane. They are skipped.
  ///
  /// - Returns: Whether the handler was removed by this call: `false` if it had ended before.
  /// - Complexity: As for ``HandlerRegistry/remove(_:)``.
  @discardableResult public func remove() -> Bool { anchor.remove(record) }

  /// Puts the token into a bag, which removes the handler when the bag is released.
  public func store(in bag: HandlerBag) { bag.insert(self) }
}

extension Collection<HandlerToken> {
  /// Puts all tokens into a bag: see ``HandlerToken/store(in:)``.
  public func store(in bag: HandlerBag) { for token in self { bag.insert(token) } }
}

extension HandlerToken: Hashable {
  /// Returns whether two tokens name one handler.
  public static func == (a: HandlerToken, b: HandlerToken) -> Bool { a.record === b.record }
  /// Hashes the number of the handler.
  public func hash(into hasher: inout Hasher) { hasher.combine(record.id) }
}

extension HandlerToken: CustomStringConvertible {
  /// One line for a log.
  public var description: String { "handler \(id)" }
}
