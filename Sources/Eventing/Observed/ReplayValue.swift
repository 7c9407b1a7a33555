// The closures are set before the event is shared.
struct ReplayValue: ~Copyable {
  var make: (@Sendable (BorrowedPayload) -> OwnedPayload?)?
  var isAnnouncement: (@Sendable (BorrowedPayload) -> Bool)?
  var makeCurrent: (@Sendable () -> OwnedPayload)?
  /// Guarded by `core.mutex` while `isCurrent` is true, otherwise isolated to the core.
  var value: OwnedPayload?
  /// True while no change is enqueued: `makeCurrent` makes the value. Guarded by: core.mutex.
  var isCurrent = false

  /// Guarded by: core.mutex.
  var needsSlowChange = false

  /// The caller holds `core.mutex`, and destroys the value after the unlock.
  mutating func take() -> OwnedPayload? {
    var taken: OwnedPayload?
    swap(&taken, &value)
    return taken
  }
}
