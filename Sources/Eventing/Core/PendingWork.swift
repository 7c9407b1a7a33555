import Dispatch
import Synchronization

/// The state that only a busy event, or an event with a special feature, needs.
///
/// A core creates this object when work is enqueued for the first time, or when a feature needs its
/// state. Each feature keeps its state in a struct of its own. Cache lines separate the fields that
/// contending threads write from fields that the thread inside the core reads for each occurrence.
// Safe: each field says what guards it.
@safe @usableFromInline package final class PendingWork: @unchecked Sendable {
  /// The posts and changes that threads have enqueued while a thread was in the event.
  /// Guarded by: core.mutex.
  @exclusivity(unchecked) package var mailbox: Mailbox
  /// The number of occurrences in the batch that the drain took out of the mailbox last, and the
  /// event's sequence number before the first of them. Guarded by: core.mutex.
  @exclusivity(unchecked) package var drained = DrainedOccurrences()
  private let firstLine = CacheLine()

  // Read with each occurrence.
  /// The flag that slows down posters to this event, because a handler of this event has posted to
  /// an overloaded one.
  let overload = OverloadFlag()
  /// Whether the event is traced.
  let isTraced = Atomic<Bool>(false)
  /// The past payloads that new handlers receive. Set before the event is shared.
  let historyReference = OnceReference<ReplayHistory>()
  var history: ReplayHistory? { historyReference.load() }
  /// The current value that new handlers of an ``Observed`` receive. Its fields say what guards
  /// them.
  @exclusivity(unchecked) var replayValue = ReplayValue()
  /// The handlers of single keys, if the event is keyed. Set by the initializer of the keyed event,
  /// under `core.mutex`, because an inspection may read it already.
  @exclusivity(unchecked) package var keyIndex: KeyIndex?

  // Seldom used.
  /// The occurrences that locks hold. Guarded by: core.mutex.
  @exclusivity(unchecked) package var holding = HoldingState()
  /// The objects that are released with the event. Guarded by: core.mutex.
  @exclusivity(unchecked) var ownedObjects: [any AnyObject & Sendable] = []
  /// The posts that wait for an instant of a clock. Guarded by: core.mutex.
  @exclusivity(unchecked) var laterPosts = LaterPosts()
  /// The `unhandled` event, which receives the occurrences that reached no handler.
  package let unhandledReference = OnceReference<UnhandledEvent>()
  /// The closure that tells a transport of readiness: see `EventCore.announceReadiness()`.
  let readinessReference = OnceReference<ReadinessListener>()
  /// The number of handlers that are also called before the value of an ``Observed`` changes. Read
  /// by the thread inside the core, or under `core.mutex`. Changed by the thread inside, under the
  /// mutex.
  @exclusivity(unchecked) var priorHandlerCount = 0
  private let secondLine = CacheLine()

  /// The waiting calls of isolated methods. Guarded by: core.mutex.
  @exclusivity(unchecked) var isolatedCalls = IsolatedCalls()
  /// The isolated call that runs, or has just returned.
  let look = RunningLook()

  /// Whether a drain is at work, which resumes the tasks in `ready`. Isolation: core.
  @exclusivity(unchecked) var isDraining = false
  /// The tasks that waited for what the drain has done. The drain resumes them when it has left
  /// the core or, if more work waits, before it goes on with that. Isolation: core.
  @exclusivity(unchecked) var ready: [UnsafeContinuation<Void, Never>] = unsafe []

  /// The items that the drain took out of the mailbox. Isolation: core.
  @exclusivity(unchecked) var batch: PayloadQueue<WorkItem>
  /// The dispatch queue that drains the event when no poster does. Isolation: core.
  @exclusivity(unchecked) var drainQueue: DispatchQueue?
  /// All but the first of the handlers that the current delivery found to have ended: removed, used
  /// up, or without their owner. They are unregistered after the delivery. The first is
  /// `EventCore.firstDead`. Isolation: core.
  @exclusivity(unchecked) var deadRecords: ContiguousArray<HandlerRecord> = []
  /// The lanes on which calls still wait, but which no slot has any more: their handlers were
  /// removed, or the event ended. Walked by the thread inside the core, or under `core.mutex`.
  /// Changed by the thread inside, under the mutex.
  @exclusivity(unchecked) package var retiringLanes: ContiguousArray<DeliveryTarget> = []

  init(_ type: PayloadType) {
    unsafe mailbox = Mailbox(type)
    unsafe batch = PayloadQueue(type)
  }

  /// Whether posters must slow down: too many occurrences wait here, or at an event to which this
  /// event's drain posts. The caller holds `core.mutex`.
  var isOverloaded: Bool {
    unsafe mailbox.occurrenceCount > OverloadControl.limit || overload.isOn.load(ordering: .relaxed)
  }

  /// Whether a delivery must keep a replay value, or look up a key. Isolation: core.
  var hasDeliveryHooks: Bool { unsafe replayValue.make != nil || keyIndex != nil }
}

/// The isolated call that a thread runs inside a core.
///
/// When the call returns, its task goes on elsewhere before the thread has left the core. So a post
/// that the task makes next would find the event busy. ``EventCore/followLook(_:)`` recognizes the
/// task, and waits for the thread to leave: that thread runs no more code of the user's.
final class RunningLook: Sendable {
  /// The thread that runs the call.
  let thread = Atomic<UInt>(0)
  /// The number of the task whose call runs; 0 if there is none, or the thread has gone on.
  let task = Atomic<UInt64>(0)

  /// Notes a call that begins. Isolation: core.
  func begin(_ job: UnownedJob) -> UInt64 {
    let number = TaskID.of(job)
    thread.store(Thread.current, ordering: .relaxed)
    task.publish(number)
    return number
  }

  /// Notes that the thread has left the core, or goes on with other work. Any thread may have begun
  /// another call meanwhile.
  func end(_ number: UInt64) { _ = task.compareExchange(expected: number, desired: 0, ordering: .relaxed) }
}

/// The queue of the calls of isolated methods. A block on Dispatch's pool takes them out and runs
/// them; there is one such block at a time.
struct IsolatedCalls {
  private var jobs = Deque<UnownedJob>()
  /// Whether a block that runs these calls of isolated methods is scheduled or running.
  private var areRun = false

  /// Appends a call. Returns whether the caller must schedule a block that runs it.
  mutating func append(_ job: UnownedJob) -> Bool {
    jobs.append(job)
    defer { areRun = true }
    return !areRun
  }

  /// Takes out the next call, for the block that runs the calls. If there is none, returns `nil`,
  /// and that block must end.
  mutating func next() -> UnownedJob? {
    let job = jobs.popFirst()
    if job == nil { areRun = false }
    return job
  }
}

/// The occurrences that the drain took out of the mailbox last, all in one step.
package struct DrainedOccurrences {
  private var count = 0
  private var sequence: UInt64 = 0

  /// Notes the number of occurrences that the drain takes out of the mailbox now, and the event's
  /// sequence number before them, for polls. Called by the drain, under the mutex.
  mutating func note(_ count: Int, at sequence: UInt64) {
    self.count = count
    self.sequence = sequence
  }

  /// Returns how many of the noted occurrences have not begun their delivery, when the event's
  /// sequence number is `now`.
  package func left(at now: UInt64) -> Int { max(0, count - Int(truncatingIfNeeded: now &- sequence)) }
}
