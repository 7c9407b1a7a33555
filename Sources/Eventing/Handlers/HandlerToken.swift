/// Identifies one handler of one event. Dropping a token has no effect.
///
/// A token is a plain value that equals every other token of the same handler. It keeps neither its
/// event nor the handler's closure alive. A method that is given the token of a handler that has
/// ended, or of another event, has no effect and returns `false`. Only
/// ``HandlerRegistry/withLocked(_:holding:_:)``, which has no such result, still runs its body.
public struct HandlerToken: Hashable, Sendable, Identifiable {
  @usableFromInline let record: HandlerRecord
  @usableFromInline package let anchor: EventAnchor

  @inlinable init(_ record: HandlerRecord, _ anchor: EventAnchor) {
    self.record = record
    self.anchor = anchor
  }

  /// A number that is unique among all past and future handlers of all events in this process.
  public var id: UInt64 { record.id }

  /// The name of the handler; `nil` if it has none.
  public var name: String? { record.details?.options.name }

  /// Removes the handler, as ``HandlerRegistry/remove(_:)`` of its event does, for code that has
  /// the token but not the event.
  ///
  /// If the event is gone, any calls of the handler that are still waiting on a lane are skipped.
  ///
  /// - Returns: Whether this call removed the handler: `false` if it had already ended.
  /// - Complexity: That of ``HandlerRegistry/remove(_:)``.
  @discardableResult public func remove() -> Bool { anchor.remove(record) }

  /// Puts the token into a bag, which removes the handler when the bag is released.
  public func store(in bag: HandlerBag) { bag.insert(self) }
}

extension Collection<HandlerToken> {
  /// Puts all tokens into a bag: see ``HandlerToken/store(in:)``.
  public func store(in bag: HandlerBag) { for token in self { bag.insert(token) } }
}

extension HandlerToken: CustomStringConvertible {
  /// One line for a log.
  public var description: String { "handler \(id)" }
}
