public import Dispatch
import Synchronization

/// What only a busy event needs: made when something is queued, or a handler went, for the first time.
// Safe: what is under the core's lock, and what is touched only from inside, is marked.
@usableFromInline final class PendingWork: @unchecked Sendable {
  // Under the lock: what those write who queue.
  /// What waits for the event, in order.
  @exclusivity(unchecked) var queue: PayloadQueue<WorkItem>
  /// How many occurrences are in `queue`.
  @usableFromInline @exclusivity(unchecked) var occurrences = 0
  /// The handlers of the queued adds.
  @usableFromInline @exclusivity(unchecked) var pendingHandlers: ContiguousArray<PendingHandler?> = []
  /// How many of them have admittedCount.
  @usableFromInline @exclusivity(unchecked) var admittedCount = 0
  /// How many of those who are still pendingHandlers are called before a value changes, too.
  @usableFromInline @exclusivity(unchecked) var pendingPriorCount = 0
  /// Handlers whose life was ended while the event was busy, and the threads that did it; in no order, since they are silent already.
  @usableFromInline @exclusivity(unchecked) var unregistering: ContiguousArray<(record: HandlerRecord, by: UInt)> = []
  private let firstLine = CacheLine()

  // What is read with each occurrence, and set before anybody else knows the event.
  @usableFromInline let overload = OverloadFlag()
  /// What newcomers are told that was sent before.
  let historyReference = OnceReference<History>()
  var history: History? { historyReference.load() }
  /// Makes what a newcomer is told of what is delivered, or nil to keep it.
  @exclusivity(unchecked) var makeReplayValue: (@Sendable (BorrowedPayload) -> OwnedPayload?)?
  /// Of a keyed event.
  @usableFromInline @exclusivity(unchecked) var keyIndex: AnyKeyIndex?

  // Under the lock, and seldom used.
  /// Lanes of handlers that have left the table, or of an event that was ended, and that still hold something: as the table, walked from
  /// inside, or under the lock; changed from inside, and under the lock.
  @usableFromInline @exclusivity(unchecked) var retiringLanes: ContiguousArray<AnyLane> = []
  /// Of the handlers that have, or had, a lock that holds, by their records' numbers.
  @exclusivity(unchecked) var holds: [UInt64: HoldingBuffer] = [:]
  /// What the event's own lock holds for each handler.
  @exclusivity(unchecked) var eventLockHolding = Holding.nothing
  /// What goes with the event.
  @usableFromInline @exclusivity(unchecked) var kept: [any AnyObject & Sendable] = []
  let unheardReference = OnceReference<UnheardEvent>()
  /// How many handlers are called before a value changes, too. As the table.
  @usableFromInline @exclusivity(unchecked) var wantPrior = 0
  private let secondLine = CacheLine()

  /// Isolated calls that no thread of the pool has taken up, and whether a block for them is scheduled, or runs.
  @exclusivity(unchecked) var jobs = Deque<UnownedJob>()
  @exclusivity(unchecked) var areJobsRun = false

  // Only from inside.
  /// What was in the queue and is being worked off.
  @exclusivity(unchecked) var pending: PayloadQueue<WorkItem>
  /// Met dead by the occurrence that is being delivered, beside the core's `firstDead`.
  @usableFromInline @exclusivity(unchecked) var deadRecords: ContiguousArray<HandlerRecord> = []
  /// The event's own queue.
  @usableFromInline @exclusivity(unchecked) var drains: DispatchQueue?
  /// What a newcomer is told that wants to know at once how things are.
  @exclusivity(unchecked) var replayValue: OwnedPayload?
  /// It is what `makeCurrentReplayValue` makes, instead. Under the lock.
  @usableFromInline @exclusivity(unchecked) var isReplayValueCurrent = false
  @exclusivity(unchecked) var makeCurrentReplayValue: (@Sendable () -> OwnedPayload)?

  /// Under the lock: the caller destroys it after.
  func takeReplayValue() -> OwnedPayload? {
    var taken: OwnedPayload?
    unsafe swap(&taken, &replayValue)
    return taken
  }

  init(_ type: PayloadType) {
    unsafe queue = PayloadQueue(type)
    unsafe pending = PayloadQueue(type)
  }

  /// Under the lock: whether more occurrences wait, here or where this event's drain posts, than may without slowing those who post.
  @usableFromInline var isFlooded: Bool {
    unsafe occurrences > OverloadControl.limit || overload.isOn.load(ordering: .relaxed)
  }

  /// Under the lock: whether more changes wait than may without slowing the threads that make them.
  var isFloodedByChanges: Bool { unsafe queue.count - occurrences > OverloadControl.changeLimit }

  /// Under the lock: the isolated call whose turn it is; nil if there is none, and the block for them ends.
  func nextJob() -> UnownedJob? {
    let job = unsafe jobs.popFirst()
    if job == nil { unsafe areJobsRun = false }
    return job
  }

  /// Whether there is more to do with an occurrence than to call handlers.
  @usableFromInline var hasDeliveryHooks: Bool { unsafe history != nil || makeReplayValue != nil || keyIndex != nil }

  /// Under the lock: of the one whose turn it is.
  @usableFromInline var nextRecord: HandlerRecord {
    guard let record = unsafe pendingHandlers[admittedCount]?.record else {
      preconditionFailure("a handler is admitted once")
    }
    return record
  }

  /// Under the lock.
  @usableFromInline func append(_ newHandler: PendingHandler) {
    unsafe pendingHandlers.append(newHandler)
    if newHandler.record.wantsPrior { unsafe pendingPriorCount += 1 }
  }

  /// Under the lock: takes out the one whose turn it is.
  @usableFromInline func takeNextHandler() -> PendingHandler {
    var newHandler: PendingHandler?
    unsafe swap(&newHandler, &pendingHandlers[admittedCount])
    unsafe admittedCount += 1
    if unsafe admittedCount == pendingHandlers.count {
      unsafe pendingHandlers.removeAll(keepingCapacity: pendingHandlers.capacity <= 2 * OverloadControl.limit)
      unsafe admittedCount = 0
    } else if unsafe admittedCount > OverloadControl.limit, unsafe admittedCount > pendingHandlers.count / 2 {
      unsafe pendingHandlers.removeFirst(admittedCount)
      unsafe admittedCount = 0
    }
    guard let newHandler else { preconditionFailure("a handler is admitted once") }
    if newHandler.record.wantsPrior { unsafe pendingPriorCount -= 1 }
    return newHandler
  }
}

/// What waits in a core.
// Safe: each item is made by one thread and worked off by another, and an unowned job may be run by any.
enum WorkItem: PayloadHeader, @unchecked Sendable {
  /// An occurrence, whose payload is beside it: the thread that queued it, and what travels with it.
  case occurrence(by: UInt, Completion?)
  /// The next so many of those who are pendingHandlers, and the thread that adds them.
  case join(Int, by: UInt)
  /// Somebody waits for all that was sent before.
  case barrier(Completion)
  /// A call of an isolated method.
  case job(UnownedJob)
  /// Locks that hold and that have ended, of these handlers, and the thread that ended them.
  case release([HandlerRecord], by: UInt)
  /// Of what the event is, but for its handlers; and the thread that makes it.
  case change(@Sendable () -> Void, by: UInt)
  case finish

  var hasPayload: Bool { if case .occurrence = self { true } else { false } }

  /// A change that nobody awaits: a flood of them slows the threads that make them.
  var isChange: Bool {
    switch self {
    case .release, .change, .finish: true
    case .occurrence, .join, .barrier, .job: false
    }
  }
}

/// A handler on its way into the table.
@usableFromInline struct PendingHandler: Sendable {
  @usableFromInline let body: ErasedHandler
  @usableFromInline let record: HandlerRecord

  @usableFromInline init(_ body: ErasedHandler, _ record: HandlerRecord) {
    self.body = body
    self.record = record
  }
}
