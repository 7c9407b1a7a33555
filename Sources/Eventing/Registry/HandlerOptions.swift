@usableFromInline package struct HandlerOptions: Sendable {
  @usableFromInline package var name: String?
  @usableFromInline package var priority = 0
  @usableFromInline package var tags: Set<String>?
  @usableFromInline package var owner: Owner?
  @usableFromInline var isOwnerBound = false
  @usableFromInline var letter = LetterPayload.same
  @usableFromInline var key: AnyKeyBox?
  @usableFromInline var isClocked = false
  @usableFromInline var wantsReplayValue = false
  @usableFromInline var wantsPrior = false
  package var isForward = false
  var isInterceptor = false
  @usableFromInline var sharedClaim: SharedClaim?
  package var bridge: Bridge?

  /// Always `nil` in a record: see `EventCore.pendingHandler(_:_:)`.
  @usableFromInline var modifierBox: ModifierBox?

  @inlinable init() {}

  @inlinable var isEmpty: Bool {
    name == nil && priority == 0 && tags == nil && owner == nil && key == nil && !isClocked && modifierBox == nil
      && sharedClaim == nil
  }
}
