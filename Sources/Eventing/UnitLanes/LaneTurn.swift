/// A turn: the work that an execution slot of a ``UnitScheduler`` does next. ``HandlerRunner`` says
/// which handlers have units.
enum LaneTurn: Sendable {
  /// The call of a unit.
  case unit(LaneUnit)
  /// Calls of a serial lane on a shared ``Lane``, one after the other.
  case calls(SharedTurns)

  var unit: LaneUnit? {
    if case .unit(let unit) = self { unit } else { nil }
  }

  /// The lane of the handler.
  var lane: DeliveryTarget {
    switch self {
    case .unit(let unit): unit.lane
    case .calls(let turns): turns.lane
    }
  }
}

extension LaneTurn {
  /// Returns the turn with its final number of calls. For calls of a serial lane, includes the
  /// calls that the lane has added to its entry of the queue, and keeps the lane from adding more.
  func closed() -> LaneTurn {
    guard case .calls(let turns) = self else { return self }
    return .calls(turns.withCount(turns.lane.closeTurns()))
  }
}

/// Successive calls of a ``SerialLane`` on a shared ``Lane``, one for each item that waits on the
/// serial lane. An execution slot makes all of these calls as one turn (``LaneTurn``). But in the
/// names `SerialLane.openTurns(_:)` and `SerialLane.closeTurns()`, "turn" means one of these calls.
struct SharedTurns: Sendable {
  let lane: SerialLane
  /// The number of calls. While these calls are the last entry of the queue, the serial lane counts
  /// further calls in its `openCount`, and not here; see ``LaneTurn/closed()``.
  var count: Int
  /// The value of ``SerialLane/era`` when the items of these calls were put onto the serial lane:
  /// the number of times that this lane had resumed after a lock. If the lane has resumed again
  /// since then, its `era` is higher, and these calls are void: their items got new turns.
  let era: Int

  func withCount(_ count: Int) -> SharedTurns { SharedTurns(lane: lane, count: count, era: era) }
}
