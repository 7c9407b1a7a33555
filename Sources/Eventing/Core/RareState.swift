import Dispatch
import Synchronization

/// State that few events need, created on first use. Padding separates the fields that contending
/// threads write from the cache lines that the thread inside reads for each occurrence.
// Safe: each field says what guards it.
@safe @usableFromInline package final class RareState: @unchecked Sendable {
  // Guarded by: core.mutex.
  @exclusivity(unchecked) package var mailbox: Mailbox
  // Guarded by: core.mutex.
  @exclusivity(unchecked) package var drained = DrainedOccurrences()
  private let firstLine = CacheLine()

  // Read for each occurrence.
  let overload = OverloadFlag()
  let isTraced = Atomic<Bool>(false)
  /// Set before the event is shared.
  let historyReference = OnceReference<ReplayHistory>()
  var history: ReplayHistory? { historyReference.load() }
  @exclusivity(unchecked) var replayValue = ReplayValue()
  /// Set under `core.mutex`, because an inspection may already be reading it.
  @exclusivity(unchecked) package var keyIndex: KeyIndex?

  // Rarely used.
  // Guarded by: core.mutex.
  @exclusivity(unchecked) package var holding = HoldingState()
  // Guarded by: core.mutex.
  @exclusivity(unchecked) var ownedObjects: [any AnyObject & Sendable] = []
  // Guarded by: core.mutex.
  @exclusivity(unchecked) var laterPosts = LaterPosts()
  package let unhandledReference = OnceReference<UnhandledEvent>()
  let readinessReference = OnceReference<ReadinessListener>()
  /// Read inside the core or under `core.mutex`. Changed inside, under the mutex.
  @exclusivity(unchecked) var priorHandlerCount = 0
  private let secondLine = CacheLine()

  // Guarded by: core.mutex.
  @exclusivity(unchecked) var isolatedCalls = IsolatedCalls()
  let look = RunningLook()

  // Isolation: core.
  @exclusivity(unchecked) var isDraining = false
  /// Resumed when the drain leaves or before it does other work. Isolation: core.
  @exclusivity(unchecked) var ready: [UnsafeContinuation<Void, Never>] = unsafe []

  // Isolation: core.
  @exclusivity(unchecked) var batch: PayloadQueue<WorkItem>
  // Isolation: core.
  @exclusivity(unchecked) var drainQueue: DispatchQueue?
  // Isolation: core.
  @exclusivity(unchecked) var deadRecords: ContiguousArray<HandlerRecord> = []
  /// Read inside the core or under `core.mutex`. Changed inside, under the mutex.
  @exclusivity(unchecked) package var retiringTargets: ContiguousArray<DeliveryTarget> = []

  init(_ type: PayloadType) {
    unsafe mailbox = Mailbox(type)
    unsafe batch = PayloadQueue(type)
  }

  /// The caller holds `core.mutex`.
  var isOverloaded: Bool {
    unsafe mailbox.occurrenceCount > OverloadControl.limit || overload.isOn.load(ordering: .relaxed)
  }

  // Isolation: core.
  var hasDeliveryHooks: Bool { unsafe replayValue.make != nil || keyIndex != nil }
}

/// When an isolated call returns, its task may continue before the thread has left the core: see
/// ``EventCore/followLook(_:)``.
final class RunningLook: Sendable {
  let thread = Atomic<UInt>(0)
  let task = Atomic<UInt64>(0)

  // Isolation: core.
  func begin(_ job: UnownedJob) -> UInt64 {
    let number = TaskID.of(job)
    thread.store(Thread.current, ordering: .relaxed)
    task.publish(number)
    return number
  }

  func end(_ number: UInt64) { _ = task.compareExchange(expected: number, desired: 0, ordering: .relaxed) }
}

struct IsolatedCalls {
  private var jobs = Deque<UnownedJob>()
  private var areRun = false

  mutating func append(_ job: UnownedJob) -> Bool {
    jobs.append(job)
    defer { areRun = true }
    return !areRun
  }

  mutating func next() -> UnownedJob? {
    let job = jobs.popFirst()
    if job == nil { areRun = false }
    return job
  }
}

package struct DrainedOccurrences {
  private var count = 0
  private var sequence: UInt64 = 0

  /// Called by the drain, under the mutex.
  mutating func note(_ count: Int, at sequence: UInt64) {
    self.count = count
    self.sequence = sequence
  }

  package func left(at now: UInt64) -> Int { max(0, count - Int(truncatingIfNeeded: now &- sequence)) }
}
