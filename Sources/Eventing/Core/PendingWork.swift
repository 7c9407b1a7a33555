public import Dispatch
import Synchronization

/// The state that only a busy event, or an event with a special feature, needs.
///
/// A core creates it when work is enqueued for the first time, or when a feature needs it. Each
/// feature keeps its state in a struct of its own. Cache lines separate the fields that contending
/// threads write from the fields that the thread inside the core reads with each occurrence.
// Safe: each field says what guards it.
@usableFromInline final class PendingWork: @unchecked Sendable {
  /// The queue of the event. Written by contending threads. Guarded by: core.mutex.
  @exclusivity(unchecked) var mailbox: Mailbox
  private let firstLine = CacheLine()

  // Read with each occurrence.
  /// The flag that slows down posters because of an overload elsewhere.
  @usableFromInline let overload = OverloadFlag()
  /// The past payloads that new handlers receive. Set before the event is shared.
  let historyReference = OnceReference<History>()
  var history: History? { historyReference.load() }
  /// The current value that new handlers of an ``Observed`` receive. Its fields say what guards
  /// them.
  @exclusivity(unchecked) var replayValue = ReplayValue()
  /// The handlers of single keys, if the event is keyed. Set before the event is shared.
  @usableFromInline @exclusivity(unchecked) var keyIndex: KeyIndex?

  // Seldom used.
  /// The occurrences that locks hold. Guarded by: core.mutex.
  @exclusivity(unchecked) var holding = HoldingState()
  /// The objects that are released with the event. Guarded by: core.mutex.
  @exclusivity(unchecked) var ownedObjects: [any AnyObject & Sendable] = []
  /// The event of occurrences that reached no handler.
  /// Guarded by: core.mutex.
  @exclusivity(unchecked) var laterPosts = LaterPosts()
  let unheardReference = OnceReference<UnheardEvent>()
  /// The number of handlers that are also called before a value changes. Read by the thread inside
  /// the core, or under `core.mutex`. Changed by the thread inside, under the mutex.
  @usableFromInline @exclusivity(unchecked) var priorHandlerCount = 0
  private let secondLine = CacheLine()

  /// The waiting calls of isolated methods. Guarded by: core.mutex.
  @exclusivity(unchecked) var isolatedCalls = IsolatedCalls()

  /// The items that the drain took out of the mailbox. Isolation: core.
  @exclusivity(unchecked) var batch: PayloadQueue<WorkItem>
  /// The queue that drains the event when no poster does. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var drainQueue: DispatchQueue?
  /// The handlers that the current occurrence found dead, except `EventCore.firstDead`.
  /// Isolation: core.
  @usableFromInline @exclusivity(unchecked) var deadRecords: ContiguousArray<HandlerRecord> = []
  /// The lanes without a slot where calls still wait: their handlers were removed, or the event
  /// ended. Walked by the thread inside the core, or under `core.mutex`. Changed by the thread
  /// inside, under the mutex.
  @usableFromInline @exclusivity(unchecked) var retiringLanes: ContiguousArray<DeliveryTarget> = []

  init(_ type: PayloadType) {
    unsafe mailbox = Mailbox(type)
    unsafe batch = PayloadQueue(type)
  }

  /// Whether posters must slow down: too many occurrences wait here, or at an event to which this
  /// event's drain posts. The caller holds `core.mutex`.
  var isOverloaded: Bool {
    unsafe mailbox.occurrenceCount > OverloadControl.limit || overload.isOn.load(ordering: .relaxed)
  }

  /// Whether a delivery must do more than call handlers. Isolation: core.
  @usableFromInline var hasDeliveryHooks: Bool {
    unsafe history != nil || replayValue.make != nil || keyIndex != nil
  }
}

/// The queue of an event: work that contending threads enqueue for the thread inside the core.
///
/// A value without synchronization. Guarded by: core.mutex.
struct Mailbox: ~Copyable {
  /// Occurrences, changes and barriers, in order.
  var items: PayloadQueue<WorkItem>
  /// The number of occurrences among the items.
  private(set) var occurrenceCount = 0
  /// The handlers of the `.join` items, in order.
  private(set) var newHandlers = Deque<PendingHandler>()
  /// The number of new handlers that are also called before a value changes.
  private(set) var priorHandlerCount = 0
  /// The deactivated handlers to unregister, and the threads that deactivated them. Their order
  /// does not matter, because they are not called any more.
  var unregistering: ContiguousArray<(record: HandlerRecord, by: UInt)> = []

  init(_ type: PayloadType) { items = PayloadQueue(type) }

  /// Whether the threads that enqueue changes must slow down, because too many changes wait.
  var isOverloadedByChanges: Bool { items.count - occurrenceCount > OverloadControl.changeLimit }

  /// Appends an occurrence.
  ///
  /// - Parameter thread: The thread that may deliver it in a drain of its own.
  mutating func append(_ payload: BorrowedPayload, _ completion: Completion?, by thread: UInt) {
    items.append(.occurrence(by: thread, completion), payload)
    occurrenceCount &+= 1
  }

  /// Appends new handlers, which join the table as a group.
  mutating func append(_ handlers: ContiguousArray<PendingHandler>) {
    for handler in handlers {
      newHandlers.append(handler)
      if handler.record.wantsPrior { priorHandlerCount += 1 }
    }
    items.append(.join(handlers.count, by: Thread.current))
  }

  /// The record of the handler that joins next.
  var nextRecord: HandlerRecord {
    guard let record = newHandlers.first?.record else { preconditionFailure("a handler joins once") }
    return record
  }

  /// Takes out the handler that joins next.
  mutating func takeNewHandler() -> PendingHandler {
    guard let handler = newHandlers.popFirst() else { preconditionFailure("a handler joins once") }
    if handler.record.wantsPrior { priorHandlerCount -= 1 }
    return handler
  }

  /// Exchanges the items with an empty batch.
  mutating func takeItems(into batch: inout PayloadQueue<WorkItem>) {
    swap(&items, &batch)
    occurrenceCount = 0
  }
}

/// The calls of isolated methods that no block of the pool has taken out.
struct IsolatedCalls {
  private var jobs = Deque<UnownedJob>()
  /// Whether a block that runs the calls is scheduled or running.
  private var areRun = false

  /// Appends a call. Returns whether the caller must schedule a block that runs it.
  mutating func append(_ job: UnownedJob) -> Bool {
    jobs.append(job)
    defer { areRun = true }
    return !areRun
  }

  /// Takes out the next call; `nil` if there is none. Then the block must end.
  mutating func next() -> UnownedJob? {
    let job = jobs.popFirst()
    if job == nil { areRun = false }
    return job
  }
}

/// An item in the mailbox of a core.
// Safe: one thread creates an item, and one other does its work. Any thread may run an unowned job.
enum WorkItem: PayloadHeader, @unchecked Sendable {
  /// An occurrence, with its payload beside the item: the thread that may deliver it in a drain of
  /// its own, and the completion.
  case occurrence(by: UInt, Completion?)
  /// The next `Int` new handlers, and the thread that adds them.
  case join(Int, by: UInt)
  /// A completion that waits for everything that was sent before.
  case barrier(Completion)
  /// A call of an isolated method.
  case job(UnownedJob)
  /// The handlers whose locks have ended, where occurrences may be held, and the thread that ended
  /// the locks.
  case release([HandlerRecord], by: UInt)
  /// A change of the event itself, and the thread that makes it.
  case change(@Sendable () -> Void, by: UInt)
  /// The end of the event.
  case finish

  var hasPayload: Bool { if case .occurrence = self { true } else { false } }

  /// Whether the thread that enqueues the item slows down if too many changes wait. A barrier or a
  /// job is awaited, and new handlers are counted separately.
  var isChange: Bool {
    switch self {
    case .release, .change, .finish: true
    case .occurrence, .join, .barrier, .job: false
    }
  }
}

/// A handler that is about to join the table.
@usableFromInline struct PendingHandler: Sendable {
  /// The closure for the handler's slot.
  @usableFromInline let body: ErasedHandler
  @usableFromInline let record: HandlerRecord

  @usableFromInline init(_ body: ErasedHandler, _ record: HandlerRecord) {
    self.body = body
    self.record = record
  }
}
