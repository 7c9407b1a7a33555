/// The queue of an event: work that contending threads enqueue for the thread inside the core.
///
/// A value without synchronization. Guarded by: core.mutex.
package struct Mailbox: ~Copyable {
  /// Occurrences, changes and barriers, in order.
  var items: PayloadQueue<WorkItem>
  /// The number of occurrences among the items.
  package private(set) var occurrenceCount = 0
  /// The handlers of the `.join` items, in order.
  private(set) var newHandlers = Deque<PendingHandler>()
  package var newHandlerCount: Int { newHandlers.count }
  /// The number of new handlers that are also called before the value of an ``Observed`` changes.
  private(set) var priorHandlerCount = 0
  /// The deactivated handlers to unregister, and the threads that deactivated them. The order does
  /// not matter, because these handlers are not called any more.
  var unregistering: ContiguousArray<(record: HandlerRecord, by: UInt)> = []

  init(_ type: PayloadType) { items = PayloadQueue(type) }

  /// Whether the threads that enqueue changes must slow down, because too many changes wait.
  var isOverloadedByChanges: Bool { items.count - occurrenceCount > OverloadControl.changeLimit }

  /// Appends an occurrence.
  ///
  /// - Parameter thread: The number of the posting thread, or ``Drainer/queue`` if only the event's
  ///   own queue may deliver the occurrence. A drain by the posting thread delivers the occurrence.
  ///   A drain by any other thread hands the occurrence off to the event's own queue.
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

  /// The record of the handler that joins the table next.
  var nextRecord: HandlerRecord {
    guard let record = newHandlers.first?.record else { preconditionFailure("a handler joins once") }
    return record
  }

  /// Takes out the handler that joins the table next.
  mutating func takeNewHandler() -> PendingHandler {
    guard let handler = newHandlers.popFirst() else { preconditionFailure("a handler joins once") }
    if handler.record.wantsPrior { priorHandlerCount -= 1 }
    return handler
  }

  /// Swaps the items with `batch`, which must be empty. Afterwards all items are in `batch`, and no
  /// items are in the mailbox.
  mutating func takeItems(into batch: inout PayloadQueue<WorkItem>) {
    swap(&items, &batch)
    occurrenceCount = 0
  }
}

/// An item in the mailbox of a core.
// Safe: one thread creates an item, and later one thread, perhaps another, does its work. That
// holds for a `.job`, too: Swift's runtime lets any thread run an `UnownedJob`.
enum WorkItem: PayloadHeader, @unchecked Sendable {
  /// An occurrence, whose payload lies beside the item. The first value is the thread that enqueues
  /// it, or ``Drainer/queue`` if only the event's queue may deliver it. The second is its
  /// completion. A poster that drains delivers only what it has enqueued itself, and hands other
  /// occurrences off to the event's queue.
  case occurrence(by: UInt, Completion?)
  /// New handlers, which join the table as a group. The first value is the number of handlers to
  /// take from `newHandlers`. The second is the thread that adds them.
  case join(Int, by: UInt)
  /// A completion that waits for everything that was sent before.
  case barrier(Completion)
  /// A call of an isolated method.
  case job(UnownedJob)
  /// The end of a lock of handlers for which occurrences may be held, and the thread that ended the
  /// lock.
  case release(LockEnd, by: UInt)
  /// A closure that the drain runs inside the core, for instance to add an observer; and the thread
  /// that enqueues it, or ``Drainer/queue`` if the event's queue does.
  case change(@Sendable () -> Void, by: UInt)
  /// The end of the event.
  case finish

  var hasPayload: Bool { if case .occurrence = self { true } else { false } }

  /// Whether the thread that enqueues the item must slow down if too many items wait. For a barrier
  /// or a job the thread need not slow down, because a task usually waits for either. New handlers
  /// and occurrences have limits of their own.
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
  let body: ErasedHandler
  let record: HandlerRecord

  init(_ body: ErasedHandler, _ record: HandlerRecord) {
    self.body = body
    self.record = record
  }
}
