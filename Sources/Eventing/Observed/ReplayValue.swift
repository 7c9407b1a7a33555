/// The replay value of an ``Observed``: the payload that new handlers with
/// ``Observed/changes(initial:prior:)`` receive first. It has the value after the last delivered
/// change.
struct ReplayValue: ~Copyable {
  /// Returns the replay value after a change that is being delivered; `nil` if the replay value
  /// stays as it was. Set before the event is shared.
  var make: (@Sendable (BorrowedPayload) -> OwnedPayload?)?
  /// Returns whether a payload only announces a change, which is delivered next. Set before the
  /// event is shared.
  var isAnnouncement: (@Sendable (BorrowedPayload) -> Bool)?
  /// Makes the replay value from the value of the ``Observed`` as it is now. Set before the event
  /// is shared.
  var makeCurrent: (@Sendable () -> OwnedPayload)?
  /// The stored replay value. While `isCurrent` is true, it is not used, and may be outdated or
  /// `nil`. Guarded by `core.mutex` while `isCurrent` is true, and otherwise isolated to the core.
  var value: OwnedPayload?
  /// Whether the replay value is made by `makeCurrent` when it is needed, and not stored in
  /// `value`. That is possible while no change is enqueued. Guarded by: core.mutex.
  var isCurrent = false

  /// Whether `Observed.Storage.set(_:)` must leave each change to `setInside(_:_:)`, which does
  /// more than assign the value and deliver the change. That is so while an `update` calls its
  /// closure for the second time or later, if the value is part of a combination, or if a read was
  /// tracked. Guarded by: core.mutex.
  var needsSlowChange = false

  /// Takes the value out. The caller holds `core.mutex`, and destroys the value after the unlock.
  mutating func take() -> OwnedPayload? {
    var taken: OwnedPayload?
    swap(&taken, &value)
    return taken
  }
}
