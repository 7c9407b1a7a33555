import Synchronization

/// The events and parts whose changes a client receives at an interval.
///
/// A *whole* update has all rows of these events and parts. Any other has only the rows that
/// changed or were removed since the update before. The first update is whole, and so is the one
/// after a missed update.
struct Subscription {
  let id: UInt64
  let interval: UInt64
  let parts: Parts
  let events: Set<UInt64>?
  /// When the next update is due.
  var nextAt: UInt64
  private var number: UInt64 = 0
  private var missed = 0
  /// The number of the poll whose rows the last update brought the client; `nil` if the next update
  /// must be whole, so that it lists all rows.
  private var known: UInt64?

  private static let last = Atomic<UInt64>(0)
  static func nextID() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The largest number of removed rows that one update names. If more were removed, the update is
  /// *whole* instead: it lists all rows that exist.
  private static let mostGone = 1_024

  init(id: UInt64, interval: UInt64, parts: Parts, events: Set<UInt64>?, nextAt: UInt64) {
    (self.id, self.interval, self.parts, self.events, self.nextAt) = (id, interval, parts, events, nextAt)
  }

  /// Returns the update that is due; `nil` if the update before it still waits.
  mutating func update(at now: UInt64, isWaiting: Bool, _ poller: Poller) -> PendingOutput? {
    nextAt = now + interval
    guard !isWaiting else {
      missed += 1
      known = nil
      return nil
    }
    var gone: [GoneRow] = []
    if let tick = known {
      gone = poller.gone.filter { row in
        row.version > tick && parts.contains(row.part) && (events?.contains(row.event) ?? true)
      }
      if tick < poller.forgottenTick || gone.count > Self.mostGone { known = nil }
    }
    let isWhole = known == nil
    number += 1
    let update = PendingOutput.Update(number: number, isWhole: isWhole, missed: missed, gone: isWhole ? [] : gone)
    let cursor = RowCursor(parts, events: events, since: known ?? 0, writesEmptyParts: isWhole)
    (known, missed) = (poller.tick, 0)
    return PendingOutput(update, of: id, cursor)
  }
}
