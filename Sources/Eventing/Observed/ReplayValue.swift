/// The current value of an ``Observed``, which new handlers receive that asked for it.
struct ReplayValue: ~Copyable {
  /// Makes the replay value of a change that is delivered; `nil` keeps the value before. Set before
  /// the event is shared.
  var make: (@Sendable (BorrowedPayload) -> OwnedPayload?)?
  /// Makes the replay value of the value as it is. Set before the event is shared.
  var makeCurrent: (@Sendable () -> OwnedPayload)?
  /// The value of the last delivered change, unless `isCurrent`. While `isCurrent` is true,
  /// guarded by `core.mutex`; otherwise isolated to the core.
  var value: OwnedPayload?
  /// Whether `makeCurrent` makes the replay value: nothing is enqueued that would change it. Guarded
  /// by: core.mutex.
  var isCurrent = false

  /// Takes the value out. The caller holds `core.mutex` and destroys it later.
  mutating func take() -> OwnedPayload? {
    var taken: OwnedPayload?
    swap(&taken, &value)
    return taken
  }
}
