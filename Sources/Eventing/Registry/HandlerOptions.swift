/// What few handlers have.
@usableFromInline struct HandlerOptions: Sendable {
  @usableFromInline var name: String?
  @usableFromInline var priority = 0
  /// `nil` for none.
  @usableFromInline var tags: Set<String>?
  @usableFromInline var owner: Owner?
  /// The closure is called with that very owner, which therefore stays what it is.
  @usableFromInline var isOwnerBound = false
  /// Of a handler of a keyed event: what it listens to, unless that is every key.
  @usableFromInline var key: AnyKeyBox?
  /// It wants to know the instant at which a delivery begins.
  @usableFromInline var isClocked = false
  /// It is told at once how things are (`PendingWork.replayValue`).
  @usableFromInline var wantsReplayValue = false
  /// It is called before a value changes, too.
  @usableFromInline var wantsPrior = false
  /// It forwards to its owner, an event.
  @usableFromInline var isForward = false

  @inlinable init() {}

  @inlinable var isEmpty: Bool {
    name == nil && priority == 0 && tags == nil && owner == nil && key == nil && !isClocked
  }
}
