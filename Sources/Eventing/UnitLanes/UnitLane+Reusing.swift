// A unit that has ended serves another payload, which takes the memory of the payload before it. So
// a lane on which few payloads wait allocates nothing for a payload.

extension UnitLane {
  /// Removes the ended units at the front of `units`. If many ended units are left behind live
  /// ones, removes these, too. Keeps removed units for further payloads, or appends them to
  /// `ended`. The caller holds `scheduler.mutex`, and releases `ended` after the unlock.
  func trim(_ ended: inout [LaneUnit]) {
    while let first = unsafe units.popFirst(where: { unsafe $0.stage == .ended }) { keep(first, &ended) }
    guard unsafe units.count > 64 + 4 * liveCount else { return }
    unsafe units.forEach { if unsafe $0.stage == .ended { keep($0, &ended) } }
    unsafe units.removeAll { unsafe $0.stage == .ended }
  }

  /// If a unit that has left `units` can serve another payload, keeps the unit; otherwise appends
  /// it to `ended`. The caller holds `scheduler.mutex`.
  ///
  /// Nothing else refers to the kept unit. Only two queues had it: the unit left the scheduler's
  /// queue when it ran, and has now left the lane's queue, `units`.
  private func keep(_ unit: LaneUnit, _ ended: inout [LaneUnit]) {
    if isDirect, unsafe !unit.isNeverReused, unsafe !isEnding, unsafe endedSpares.count < layout.keptCount(atMost: 256)
    {
      unsafe endedSpares.append(unit)
    } else {
      ended.append(unit)
    }
  }

  /// Fills `spareUnits` with the units that have ended. Isolation: core. The caller holds
  /// `scheduler.mutex`.
  func refillSpareUnits() {
    if unsafe spareUnits.isEmpty, unsafe !endedSpares.isEmpty { unsafe swap(&spareUnits, &endedSpares) }
  }
}
