import Synchronization

/// The first update is *whole*, and so is the one after a missed update: it has all rows. Any other
/// update has only the changes since the one before.
struct Subscription {
  let id: UInt64
  let interval: UInt64
  let parts: Parts
  let events: Set<UInt64>?
  var nextAt: UInt64
  private var number: UInt64 = 0
  private var missed = 0
  /// The poll of the last update; `nil` if the next one must be whole.
  private var known: UInt64?

  private static let last = Atomic<UInt64>(0)
  static func nextID() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }

  /// If more rows were removed, the update is whole instead.
  private static let mostGone = 1_024

  init(id: UInt64, interval: UInt64, parts: Parts, events: Set<UInt64>?, nextAt: UInt64) {
    (self.id, self.interval, self.parts, self.events, self.nextAt) = (id, interval, parts, events, nextAt)
  }

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
