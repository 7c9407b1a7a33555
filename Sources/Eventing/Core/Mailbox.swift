import Dispatch
import Synchronization

// Guarded by: core.mutex.
package struct Mailbox: ~Copyable {
  var items: PayloadQueue<WorkItem>
  package private(set) var occurrenceCount = 0
  private(set) var newHandlers = Deque<PendingHandler>()
  package var newHandlerCount: Int { newHandlers.count }
  private(set) var priorHandlerCount = 0
  var unregistering: ContiguousArray<(record: HandlerRecord, by: UInt)> = []

  init(_ type: PayloadType) { items = PayloadQueue(type) }

  var isOverloadedByChanges: Bool { items.count - occurrenceCount > OverloadControl.changeLimit }

  mutating func append(_ payload: BorrowedPayload, _ completion: Completion?, by thread: UInt) {
    items.append(.occurrence(by: thread, completion), payload)
    occurrenceCount &+= 1
  }

  mutating func append(_ handlers: ContiguousArray<PendingHandler>) {
    for handler in handlers {
      newHandlers.append(handler)
      if handler.record.wantsPrior { priorHandlerCount += 1 }
    }
    items.append(.join(handlers.count, by: Thread.current))
  }

  var nextRecord: HandlerRecord {
    guard let record = newHandlers.first?.record else { preconditionFailure("a handler joins once") }
    return record
  }

  mutating func takeNewHandler() -> PendingHandler {
    guard let handler = newHandlers.popFirst() else { preconditionFailure("a handler joins once") }
    if handler.record.wantsPrior { priorHandlerCount -= 1 }
    return handler
  }

  mutating func takeItems(into batch: inout PayloadQueue<WorkItem>) {
    swap(&items, &batch)
    occurrenceCount = 0
  }
}

// Safe: one thread creates an item, and one thread, possibly a different one, later does its work.
// This also holds for a `.job`, because Swift's runtime lets any thread run an `UnownedJob`.
enum WorkItem: PayloadHeader, @unchecked Sendable {
  case occurrence(by: UInt, Completion?)
  case join(Int, by: UInt)
  case barrier(Completion)
  case job(UnownedJob)
  case release(LockEnd, by: UInt)
  case change(@Sendable () -> Void, by: UInt)
  case finish

  var hasPayload: Bool { if case .occurrence = self { true } else { false } }

  /// Excludes barriers and jobs, for which a task usually waits, as well as new handlers and
  /// occurrences, which have limits of their own.
  var isChange: Bool {
    switch self {
    case .release, .change, .finish: true
    case .occurrence, .join, .barrier, .job: false
    }
  }
}

@usableFromInline struct PendingHandler: Sendable {
  let body: ErasedHandler
  let record: HandlerRecord

  init(_ body: ErasedHandler, _ record: HandlerRecord) {
    self.body = body
    self.record = record
  }
}
