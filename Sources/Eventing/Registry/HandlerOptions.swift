/// The options of a handler. Most handlers have none.
@usableFromInline package struct HandlerOptions: Sendable {
  @usableFromInline package var name: String?
  @usableFromInline package var priority = 0
  /// `nil` for none.
  @usableFromInline package var tags: Set<String>?
  @usableFromInline package var owner: Owner?
  /// Whether the closure takes the owner, so that no other owner may replace it.
  @usableFromInline var isOwnerBound = false
  /// How a dead letter gets a payload of the event from one that the handler received.
  @usableFromInline var letter = LetterPayload.same
  /// The key that a handler of a keyed event listens to; `nil` for all keys.
  @usableFromInline var key: AnyKeyBox?
  /// Whether the handler needs the instant at which a delivery begins.
  @usableFromInline var isClocked = false
  /// Whether the handler receives the current value when it is added (`PendingWork.replayValue`).
  @usableFromInline var wantsReplayValue = false
  /// Whether the handler is also called before a value changes.
  @usableFromInline var wantsPrior = false
  /// Whether the handler is a forward. It sends each payload on through another event, which is
  /// then the `owner` of this handler, or to a place that is no event, named by `bridge`.
  package var isForward = false
  /// Whether the handler is an interceptor, which handles nothing. A transport brings no message
  /// for it alone.
  var isInterceptor = false
  /// The handler for which each call is claimed, too; `nil` for none.
  @usableFromInline var sharedClaim: SharedClaim?
  /// The place that the handler forwards to, if it is no event; `nil` otherwise.
  package var bridge: Bridge?

  /// The modifiers that change when calls are made, and how; `nil` for none. Always `nil` in a
  /// record: see `EventCore.pendingHandler(_:_:)`.
  @usableFromInline var modifierBox: ModifierBox?

  @inlinable init() {}

  @inlinable var isEmpty: Bool {
    name == nil && priority == 0 && tags == nil && owner == nil && key == nil && !isClocked && modifierBox == nil
      && sharedClaim == nil
  }
}
