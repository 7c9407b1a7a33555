/// The current value of an ``Observed``, for new handlers with ``ChangeOptions/initial``.
struct ReplayValue: ~Copyable {
  /// Returns the replay value after a change that is being delivered; `nil` if the replay value
  /// stays as it was. Set before the event is shared.
  var make: (@Sendable (BorrowedPayload) -> OwnedPayload?)?
  /// Returns the replay value for the value as it is now. Set before the event is shared.
  var makeCurrent: (@Sendable () -> OwnedPayload)?
  /// The replay value of the last delivered change, unless `isCurrent` is true. Guarded by
  /// `core.mutex` while `isCurrent` is true, and otherwise isolated to the core.
  var value: OwnedPayload?
  /// Whether `makeCurrent` returns the replay value, because no change is enqueued.
  /// Guarded by: core.mutex.
  var isCurrent = false

  /// Whether each change takes the slow path: an `update` is in its second or a later attempt, the
  /// value is part of a combination, or a read was tracked. Guarded by: core.mutex.
  var needsSlowChange = false

  /// Takes the value out. The caller holds `core.mutex`, and destroys the value after the mutex.
  mutating func take() -> OwnedPayload? {
    var taken: OwnedPayload?
    swap(&taken, &value)
    return taken
  }
}
