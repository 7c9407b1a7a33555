import Dispatch
import Eventing
import Synchronization

/// The operations that a trial needs of an event of any kind.
protocol TrialSubject: Sendable {
  nonisolated func remove(_ token: HandlerToken) -> Bool
  nonisolated func removeAll(where filter: HandlerFilter) -> Int
  nonisolated func lock(_ token: HandlerToken, holding: Buffering?) -> Bool
  nonisolated func unlock(_ token: HandlerToken) -> Bool
  nonisolated func isLocked(_ token: HandlerToken) -> Bool
  nonisolated(nonsending) func quiesce() async
  /// The source for handlers that are added within a call of another handler.
  nonisolated var listeners: any EventSource<StressPayload> { get }
  /// The key of the payloads for ``postWithin(_:)``; nil if the event has no keys.
  nonisolated var keyWithin: Int32? { get }
  /// Posts a payload. The caller is a handler of the event: it posts while it is being called.
  nonisolated func postWithin(_ payload: StressPayload)
}

extension Event: TrialSubject where Payload == StressPayload {
  nonisolated var listeners: any EventSource<StressPayload> { self }
  nonisolated var keyWithin: Int32? { nil }
  nonisolated func postWithin(_ payload: StressPayload) { post(payload) }
}

extension KeyedEvent: TrialSubject where Key == Int32, Payload == StressPayload {
  nonisolated var listeners: any EventSource<StressPayload> { anyKey.map(\.payload) }
  nonisolated var keyWithin: Int32? { 0 }
  nonisolated func postWithin(_ payload: StressPayload) { post(payload, to: 0) }
}

/// The test of a plain event (`Event`) for one round: see ``AnyTrial``.
// Safe: see ``AnyTrial``.
final class Trial: AnyTrial, @unchecked Sendable {
  let event: Event<StressPayload>

  init(_ context: ScenarioContext) {
    event = Event<StressPayload>("trial")
    super.init(context, event) { [event] in event.add($0, $1, priority: $2) }
    context.watch(event)
    add(witness)
  }

  var isEventLocked: Bool { eventLocks.last.map { $0.off == nil } ?? false }

  /// Locks or unlocks the event itself.
  func toggleEventLock(by worker: Worker) {
    if isEventLocked {
      eventLocks[eventLocks.count - 1].off = worker.change(.lock) { event.unlock() }.span
      checks.expect(.g9, !event.isLocked, "the event is locked after unlock")
    } else {
      eventLocks.append(HandlerLog.LockSpan(on: worker.change(.lock) { event.lock(holding: holding) }.span, off: nil))
      checks.expect(.g9, event.isLocked, "the event is not locked after lock")
    }
  }
}

/// A test of one event, for one round. Workers add, remove and lock handlers through the trial. At
/// the end the trial verifies what the handlers and the senders recorded.
///
/// The first handler is the *witness*. It is called with every occurrence that no event lock skips,
/// so the order of its calls is the order of the event. When the witness is called again, the
/// previous occurrence has reached all inline handlers.
// Safe: `extraHandlerLogs` changes only between races, `eventLocks` only on one worker. Each worker
// accesses only its own parts.
class AnyTrial: @unchecked Sendable {
  let context: ScenarioContext
  let subject: any TrialSubject
  private let addHandler: @Sendable (HandlerLog, Places, Int) -> HandlerToken
  let places = Places()
  let witness: HandlerLog
  /// The logs of the handlers that no worker added. The first is that of the witness, the trial's
  /// first handler, whose calls show the order of the event.
  var extraHandlerLogs: [HandlerLog] = []
  /// For each handler that posts, a log of what it has posted. Such a handler is a sender of its
  /// own, beside the workers.
  private(set) var extraSenderLogs: [SenderLog] = []
  /// The occurrences that each lock of the trial holds: none, or all that it keeps from handlers.
  /// If all are held, no lock explains a missing call.
  var holding: Buffering?
  /// The times during which the event itself was locked.
  var eventLocks: [HandlerLog.LockSpan] = []
  /// Whether the witness, the trial's first handler, receives every occurrence: no event lock skips
  /// one.
  var losesNothing: Bool { eventLocks.isEmpty || holding != nil }
  /// The number of blocks that have not finished removing a handler, each on the queue or the actor
  /// of that handler.
  let errands = Counter()
  /// The span of the final `quiesce`, after which no handler runs.
  private(set) var settled = Span.open

  var checks: Checks { context.checks }
  var handlerLogs: [HandlerLog] { extraHandlerLogs + context.workers.flatMap(\.handlerLogs) }
  var senderLogs: [SenderLog] { context.workers.map(\.senderLog) + extraSenderLogs }

  /// Creates a trial and its witness: the first handler, whose calls show the order of the event.
  ///
  /// - Parameter attach: A closure that adds a handler with a priority. The handler records its
  ///   calls in the given log, and runs at the log's `place`. `Places` has the queues and the actor
  ///   for such places.
  init(
    _ context: ScenarioContext, _ subject: any TrialSubject,
    _ attach: @escaping @Sendable (HandlerLog, Places, Int) -> HandlerToken
  ) {
    self.context = context
    self.subject = subject
    addHandler = attach
    witness = HandlerLog(.inline, named: "witness", context.checks)
    extraHandlerLogs = [witness]
    witness.trouble = makeTrouble(makeSenderLog())
  }

  func makeSenderLog() -> SenderLog {
    let senderLog = SenderLog(context.workers.count + extraSenderLogs.count)
    extraSenderLogs.append(senderLog)
    return senderLog
  }

  // MARK: Changes

  func add(_ handlerLog: HandlerLog, priority: Int = 0) {
    handlerLog.fate = context.makeFate()
    attach(handlerLog, priority)
  }

  private func attach(_ handlerLog: HandlerLog, _ priority: Int) {
    handlerLog.priority = priority
    handlerLog.adding = .open
    handlerLog.token = addHandler(handlerLog, places, priority)
    handlerLog.adding.finish()
  }

  /// Adds a handler that belongs to a worker.
  func add(_ handlerLog: HandlerLog, by worker: Worker, priority: Int = 0) {
    handlerLog.fate = worker.makeFate()
    worker.change(.add) { attach(handlerLog, priority) }
    worker.handlerLogs.append(handlerLog)
  }

  /// Removes a handler of a worker by its name or by its token. Some removals by token run where
  /// the handler runs: on its serial queue, its actor or the main actor.
  func remove(_ handlerLog: HandlerLog, by worker: Worker) {
    guard let token = handlerLog.token, handlerLog.removing == nil else { return }
    let subject = subject
    switch (handlerLog.place, worker.random.below(3)) {
    case (.queue, 0): removeStrictly(handlerLog) { body in self.places.queue.async(execute: body) }
    case (.main, 0), (.mainAsync, 0): removeStrictly(handlerLog) { body in Task { @MainActor in body() } }
    case (.isolated, 0):
      let room = places.room
      removeStrictly(handlerLog) { body in Task { await room.perform(body) } }
    case (_, 1) where handlerLog.name != nil:
      let (count, span) = worker.change(.remove) { subject.removeAll(where: .named(handlerLog.name ?? "")) }
      handlerLog.removing = span
      if !handlerLog.isOnce { checks.expect(.g7, count == 1, "removeAll(where:) found \(count) of \(handlerLog)") }
    default:
      let (wasThere, span) = worker.change(.remove) { subject.remove(token) }
      handlerLog.removing = span
      if !handlerLog.isOnce { checks.expect(.g7, wasThere, "remove did not find \(handlerLog)") }
      checks.expect(.g11, !subject.remove(token), "\(handlerLog) was removed twice")
    }
  }

  private func removeStrictly(_ handlerLog: HandlerLog, _ run: (@escaping @Sendable () -> Void) -> Void) {
    guard let token = handlerLog.token else { return }
    errands.add()
    handlerLog.removing = Span(start: Clock.now, end: .max)
    handlerLog.isRemovalStrict = true
    run { [subject, errands] in
      _ = subject.remove(token)
      handlerLog.removalEnded()
      errands.add(-1)
    }
  }

  /// Locks or unlocks a handler of a worker.
  func toggleLock(_ handlerLog: HandlerLog, by worker: Worker) {
    guard let token = handlerLog.token, handlerLog.removing == nil else { return }
    let subject = subject
    if handlerLog.isLocked {
      let (wasThere, span) = worker.change(.lock) { subject.unlock(token) }
      handlerLog.locks[handlerLog.locks.count - 1].off = span
      if !handlerLog.isOnce { checks.expect(.g9, wasThere, "unlock did not find \(handlerLog)") }
      checks.expect(.g9, !subject.isLocked(token), "\(handlerLog) is locked after unlock")
    } else {
      let (wasThere, span) = worker.change(.lock) { subject.lock(token, holding: holding) }
      handlerLog.locks.append(HandlerLog.LockSpan(on: span, off: nil))
      let isLocked = subject.isLocked(token)
      if !handlerLog.isOnce { checks.expect(.g9, wasThere && isLocked, "\(handlerLog) is not locked after lock") }
    }
  }

  // MARK: The end

  /// Waits until no handler runs any more, and verifies the trial.
  func finish() async {
    context.director.begin(.quiesce)
    let ran = await eventually(within: 60) { errands.value == 0 }
    checks.expect(.g20, ran, "\(errands.value) blocks never ran")
    for senderLog in senderLogs { await senderLog.awaitReports() }
    settled.start = Clock.now
    await subject.quiesce()
    await subject.quiesce()  // also waits for occurrences that handlers posted during the first `quiesce`
    settled.finish()
    context.director.begin(.verify)
    for handlerLog in handlerLogs { handlerLog.closeRemoval() }
    let calls = handlerLogs.reduce(0) { $0 + $1.calls.count }
    var verifier = Verifier(self)
    verifier.run()
    await Task.yield()
    let later = handlerLogs.reduce(0) { $0 + $1.calls.count }
    checks.expect(.g7, later == calls, "\(later - calls) calls began after quiesce had returned")
    // These closures may retain the event, which retains the handlers: a retain cycle.
    for handlerLog in handlerLogs { (handlerLog.reaction, handlerLog.trouble) = (nil, nil) }
    context.countOverlaps()
  }
}
