/// A turn in the queue of a ``UnitScheduler``.
enum LaneTurn: Sendable {
  /// The turn of a unit.
  case unit(LaneUnit)
  /// Turns of a serial lane on a shared ``Lane``, one after the other.
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
  /// Returns the turn with all that a serial lane has added to it, and lets the lane add no more.
  func closed() -> LaneTurn {
    guard case .calls(let turns) = self else { return self }
    return .calls(turns.withCount(turns.lane.closeTurns()))
  }
}

/// The turns of a ``SerialLane`` on a shared ``Lane``: one for each item that waits on the serial
/// lane.
struct SharedTurns: Sendable {
  let lane: SerialLane
  var count: Int
  /// The number of times that the lane had resumed when its items came: see
  /// ``SerialLane/era``.
  let era: Int

  func withCount(_ count: Int) -> SharedTurns { SharedTurns(lane: lane, count: count, era: era) }
}
