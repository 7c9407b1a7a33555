/// Names a handler. Dropping it changes nothing.
///
/// A plain value: it keeps neither its event nor the handler's closure alive. Used twice, late, or on another event it does nothing
/// and says so: every verb then returns `false`, `nil` or 0. (Only `withLocked`, which has nothing to return, runs its body all the same.)
public struct HandlerToken: Sendable, Identifiable {
  @usableFromInline let record: HandlerRecord
  @usableFromInline let identity: EventIdentity

  @inlinable init(_ record: HandlerRecord, _ identity: EventIdentity) {
    self.record = record
    self.identity = identity
  }

  /// A number that no other handler has, of whatever event, before or after.
  public var id: UInt64 { record.id }

  /// The handler's name, if it has one.
  public var name: String? { record.details?.options.name }

  /// Has the bag remove the handler when the bag goes away.
  public func store(in bag: HandlerBag) { bag.insert(self) }
}

extension Collection<HandlerToken> {
  /// Hands the handlers of a group to a bag.
  public func store(in bag: HandlerBag) { for token in self { bag.insert(token) } }
}

extension HandlerToken: Hashable {
  /// Whether both name the same handler.
  public static func == (a: HandlerToken, b: HandlerToken) -> Bool { a.record === b.record }
  /// By its number.
  public func hash(into hasher: inout Hasher) { hasher.combine(record.id) }
}

extension HandlerToken: CustomStringConvertible {
  /// In one line.
  public var description: String { "handler \(id)" }
}
