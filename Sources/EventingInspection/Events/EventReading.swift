import Eventing

/// The counters of one event, as a poll last read them. A reading belongs to one thread at a time.
final class EventReading {
  /// The number of occurrences whose delivery began.
  var sequence: UInt64 = 0
  /// The number of occurrences that wait in the event's queue.
  var waiting = 0
  /// Whether so many occurrences wait in the event's queue that posts are slowed down: see
  /// ``OverloadControl``.
  var isOverloaded = false
  /// The number of handlers that have not ended.
  var handlerCount = 0
  /// The number of occurrences that reached no handler; `nil` if the event does not count them.
  var unheard: UInt64?
  var isLocked = false
  var isFinished = false
  /// Whether a thread was inside the event.
  var isBusy = false
  /// The numbers that identify two events that belong to this one: `Event.unhandled`, and
  /// `Event.failures` (``EventIdentity/number``). 0 for an event that does not exist.
  var children: (unheard: UInt64, failures: UInt64) = (0, 0)
  /// The handlers, in the order in which they are called. Removed handlers whose lanes still run
  /// calls come last.
  var handlers: ContiguousArray<HandlerReading> = []
  /// Whether the last poll read the handlers. If it did not, ``handlers`` is what an earlier poll
  /// read: the poll saw no sign that a handler had changed since.
  var hasReadHandlers = false

  /// The handlers that the current poll found when it walked over the event's handlers, under the
  /// core's mutex. Emptied when the poll has read their counters.
  var found: ContiguousArray<Found> = []
  /// The values that the last poll noted, such as the event's counter of changes and number of
  /// handlers. If the next poll finds other values, it must read the handlers.
  var shape = Shape()
  /// Whether the event has keys.
  var hasKeys = false
  /// Whether the counters of handlers may change without a new occurrence, for instance because
  /// calls run.
  var isRestless = true

  /// A handler that a poll found when it walked over the event's handlers, under the core's mutex,
  /// with the counters that can only be read there.
  struct Found {
    let record: HandlerRecord
    let key: AnyKeyBox?
    let target: DeliveryTarget?
    let skipped: Int
    let held: Int
    let offered: UInt64
  }

  /// The state by which a poll sees that the handlers have changed since the last poll. Each
  /// addition, removal and lock of a handler changes it. Work on a lane may leave it as it is:
  /// while a lane has work, `isRestless` lets each poll read the handlers.
  struct Shape: Equatable {
    var changes: UInt64 = 0
    var count: Int32 = 0
    var deadCount: Int32 = 0
    var newCount = 0
    var isBusy = false
  }

  init() {}
}

/// The counters of one handler, as a poll read them.
struct HandlerReading: Equatable, Sendable {
  /// Whether a handler has an owner, and whether the owner still exists.
  enum OwnerState: String, Sendable { case none, alive, gone }

  let record: HandlerRecord
  /// The key that the handler listens to; `nil` for a handler of `anyKey`, or of an event without
  /// keys.
  let keyBox: AnyKeyBox?
  /// The number of the lane; `nil` for an inline handler. Handlers on one queue, actor or shared
  /// lane have one number.
  var lane: UInt64?
  var isLocked = false
  var owner = OwnerState.none
  /// The number of calls that have begun.
  var calls = 0
  /// The number of calls that have ended.
  var ended = 0
  /// The number of calls that threw.
  var failed = 0
  var skipped = 0
  var dropped = 0
  /// Whether the handler asks that newer occurrences replace older ones, so that no drop is a loss.
  var replaces = false
  var held = 0
  /// The number of occurrences that wait on the lane.
  var waiting = 0
  /// The number of calls that run; `nil` for an inline handler.
  var running: Int?
  /// A number that stays while the oldest running call is the same one.
  var oldestCall: UInt64 = 0

  /// The number of the handler, as ``HandlerToken/id``.
  var id: UInt64 { record.id }

  static func == (a: HandlerReading, b: HandlerReading) -> Bool {
    a.record === b.record && a.calls == b.calls && a.ended == b.ended && a.waiting == b.waiting
      && a.running == b.running && a.oldestCall == b.oldestCall && a.skipped == b.skipped && a.dropped == b.dropped
      && a.held == b.held && a.failed == b.failed && a.isLocked == b.isLocked && a.owner == b.owner && a.lane == b.lane
  }
}

/// The part of a handler's state that never changes.
struct HandlerInfo: Sendable {
  let name: String?
  let fileID: String?
  let line: Int?
  let delivery: String
  let priority: Int
  let tags: [String]
  let isOnce: Bool
  let isForward: Bool
  /// The type of the owner; `nil` if the handler had none, or its owner was gone.
  let ownerType: String?
}

extension HandlerReading {
  /// The part of the handler's state that never changes. Read it once, and not with each poll: each
  /// read makes strings.
  var info: HandlerInfo {
    let options = record.details?.options
    return HandlerInfo(
      name: options?.name, fileID: record.fileAndLine?.fileID, line: record.fileAndLine?.line,
      delivery: (record.details?.place ?? .inline).description, priority: options?.priority ?? 0,
      tags: options?.tags?.sorted(by: <) ?? [], isOnce: record.has(HandlerFlags.once),
      isForward: options?.isForward ?? false, ownerType: options?.owner?.look { "\(type(of: $0))" })
  }
}
