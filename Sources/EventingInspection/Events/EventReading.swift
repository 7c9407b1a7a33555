import Eventing

/// Belongs to one thread at a time.
final class EventReading {
  var sequence: UInt64 = 0
  var waiting = 0
  /// Posts are slowed down: see ``OverloadControl``.
  var isOverloaded = false
  var handlerCount = 0
  /// `nil` if the event does not count what reached no handler.
  var unheard: UInt64?
  var isLocked = false
  var isFinished = false
  var isBusy = false
  /// The events `Event.unhandled` and `Event.failures`, by ``EventIdentity/number``; 0 for none.
  var children: (unheard: UInt64, failures: UInt64) = (0, 0)
  /// In the order of calls. Removed handlers whose lanes still run calls come last.
  var handlers: ContiguousArray<HandlerReading> = []
  /// If not, ``handlers`` is what an earlier poll read: there was no sign of a change.
  var hasReadHandlers = false

  /// Found by the current poll under the core's mutex. Emptied when their counters have been read.
  var found: ContiguousArray<Found> = []
  /// If the next poll finds another shape, it must read the handlers.
  var shape = Shape()
  var hasKeys = false
  /// Counters may change without a new occurrence, for instance because calls run.
  var isRestless = true

  /// With the counters that can only be read under the core's mutex.
  struct Found {
    let record: HandlerRecord
    let key: AnyKeyBox?
    let target: DeliveryTarget?
    let skipped: Int
    let held: Int
    let offered: UInt64
  }

  /// Each addition, removal and lock of a handler changes this. Work on a lane may not, so
  /// `isRestless` lets each poll read the handlers meanwhile.
  struct Shape: Equatable {
    var changes: UInt64 = 0
    var count: Int32 = 0
    var deadCount: Int32 = 0
    var newCount = 0
    var isBusy = false
  }

  init() {}
}

struct HandlerReading: Equatable, Sendable {
  enum OwnerState: String, Sendable { case none, alive, gone }

  let record: HandlerRecord
  /// `nil` for a handler of `anyKey`, or of an event without keys.
  let keyBox: AnyKeyBox?
  /// `nil` for an inline handler. Handlers on one queue, actor or shared lane have one number.
  var lane: UInt64?
  var isLocked = false
  var owner = OwnerState.none
  var calls = 0
  var ended = 0
  var failed = 0
  var skipped = 0
  var dropped = 0
  /// Newer occurrences replace older ones, so no drop is a loss.
  var replaces = false
  var held = 0
  var waiting = 0
  var running: Int?
  /// Stays while the oldest running call is the same one.
  var oldestCall: UInt64 = 0

  var id: UInt64 { record.id }

  static func == (a: HandlerReading, b: HandlerReading) -> Bool {
    a.record === b.record && a.calls == b.calls && a.ended == b.ended && a.waiting == b.waiting
      && a.running == b.running && a.oldestCall == b.oldestCall && a.skipped == b.skipped && a.dropped == b.dropped
      && a.held == b.held && a.failed == b.failed && a.isLocked == b.isLocked && a.owner == b.owner && a.lane == b.lane
  }
}

struct HandlerInfo: Sendable {
  let name: String?
  let fileID: String?
  let line: Int?
  let delivery: String
  let priority: Int
  let tags: [String]
  let isOnce: Bool
  let isForward: Bool
  /// `nil` if the handler had no owner, or the owner was gone.
  let ownerType: String?
}

extension HandlerReading {
  /// Never changes. Read once, and not with each poll: each read makes strings.
  var info: HandlerInfo {
    let options = record.details?.options
    return HandlerInfo(
      name: options?.name, fileID: record.fileAndLine?.fileID, line: record.fileAndLine?.line,
      delivery: (record.details?.place ?? .inline).description, priority: options?.priority ?? 0,
      tags: options?.tags?.sorted(by: <) ?? [], isOnce: record.has(HandlerFlags.once),
      isForward: options?.isForward ?? false, ownerType: options?.owner?.look { "\(type(of: $0))" })
  }
}
