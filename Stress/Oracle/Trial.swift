import Dispatch
import Eventing
import Synchronization

/// What the oracle does to an event, of whatever kind.
protocol TrialSubject: Sendable {
  nonisolated func remove(_ token: HandlerToken) -> Bool
  nonisolated func remove(named name: String) -> Int
  nonisolated func lock(_ token: HandlerToken, holding: Holding) -> Bool
  nonisolated func unlock(_ token: HandlerToken) -> Bool
  nonisolated func isLocked(_ token: HandlerToken) -> Bool
  nonisolated(nonsending) func quiesce() async
  /// Where handlers are added within a call of another.
  nonisolated var listeners: any EventSource<StressPayload> { get }
  /// A post by one of its handlers.
  nonisolated func postWithin(_ payload: StressPayload)
}

extension Event: TrialSubject where Payload == StressPayload {
  nonisolated var listeners: any EventSource<StressPayload> { self }
  nonisolated func postWithin(_ payload: StressPayload) { post(payload) }
}

extension KeyedEvent: TrialSubject where Payload == StressPayload {
  nonisolated var listeners: any EventSource<StressPayload> { untargeted }
  nonisolated func postWithin(_ payload: StressPayload) { postUntargeted(payload) }
}

/// An event under observation.
// Safe: as all trials.
final class Trial: AnyTrial, @unchecked Sendable {
  let event: Event<StressPayload>

  init(_ context: ScenarioContext) {
    event = Event<StressPayload>("trial")
    super.init(context, event) { [event] in event.add($0, $1, priority: $2) }
    context.watch(event)
    add(witness)
  }

  var isGated: Bool { gates.last.map { $0.off == nil } ?? false }

  /// Locks or unlocks the event itself.
  func toggleGate(by worker: Worker) {
    if isGated {
      gates[gates.count - 1].off = worker.change(.lock) { event.unlock() }.span
      checks.expect(.g9, !event.isLocked, "the event is locked after unlock")
    } else {
      gates.append(HandlerLog.Mute(on: worker.change(.lock) { event.lock(holding: holding) }.span, off: nil))
      checks.expect(.g9, event.isLocked, "the event is not locked after lock")
    }
  }
}

/// One event under observation, for one round: all that is done to it goes through here, and is judged at the end.
///
/// The first handler is the *witness*. It is called with every occurrence, so the order of its calls is the order of the event, and the time of its
/// next call is a time at which an occurrence has reached all its handlers.
// Safe: `extraProbes` is changed while nobody races, `gates` by one worker; the workers' parts are theirs.
class AnyTrial: @unchecked Sendable {
  let context: ScenarioContext
  let subject: any TrialSubject
  private let addHandler: @Sendable (HandlerLog, Places, Int) -> HandlerToken
  let places = Places()
  let witness: HandlerLog
  /// Handlers that belong to no worker.
  var extraProbes: [HandlerLog] = []
  /// Handlers that post have senderLogs of their own.
  private(set) var extraVoices: [SenderLog] = []
  /// What locks do with what they skip; if they hold it, they excuse nothing that is missing.
  var holding = Holding.nothing
  /// When the event itself was locked.
  var gates: [HandlerLog.Mute] = []
  /// The witness sees everything.
  var losesNothing: Bool { gates.isEmpty || holding != .nothing }
  /// Blocks on queues that still have to run.
  let errands = Counter()
  /// When everything had ended.
  private(set) var settled = Span.open

  var checks: Checks { context.checks }
  var handlerLogs: [HandlerLog] { extraProbes + context.workers.flatMap(\.handlerLogs) }
  var senderLogs: [SenderLog] { context.workers.map(\.senderLog) + extraVoices }

  /// - Parameter attach: adds the handler of a handlerLog, in one of the places, with a priority.
  init(
    _ context: ScenarioContext, _ subject: any TrialSubject,
    _ attach: @escaping @Sendable (HandlerLog, Places, Int) -> HandlerToken
  ) {
    self.context = context
    self.subject = subject
    addHandler = attach
    witness = HandlerLog(.inline, named: "witness", context.checks)
    extraProbes = [witness]
    witness.trouble = makeTrouble(makeVoice())
  }

  func makeVoice() -> SenderLog {
    let senderLog = SenderLog(context.workers.count + extraVoices.count)
    extraVoices.append(senderLog)
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

  /// Adds a handler of the worker's.
  func add(_ handlerLog: HandlerLog, by worker: Worker, priority: Int = 0) {
    handlerLog.fate = worker.makeFate()
    worker.change(.add) { attach(handlerLog, priority) }
    worker.handlerLogs.append(handlerLog)
  }

  /// Removes a handler of the worker's: by its token, by its name, or on its own serial context.
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
      let (count, span) = worker.change(.remove) { subject.remove(named: handlerLog.name ?? "") }
      handlerLog.removing = span
      if !handlerLog.isOnce { checks.expect(.g7, count == 1, "remove(named:) found \(count) of \(handlerLog)") }
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

  /// Locks or unlocks a handler of the worker's.
  func toggleLock(_ handlerLog: HandlerLog, by worker: Worker) {
    guard let token = handlerLog.token, handlerLog.removing == nil else { return }
    let subject = subject
    if handlerLog.isMuted {
      let (wasThere, span) = worker.change(.lock) { subject.unlock(token) }
      handlerLog.mutes[handlerLog.mutes.count - 1].off = span
      if !handlerLog.isOnce { checks.expect(.g9, wasThere, "unlock did not find \(handlerLog)") }
      checks.expect(.g9, !subject.isLocked(token), "\(handlerLog) is locked after unlock")
    } else {
      let (wasThere, span) = worker.change(.lock) { subject.lock(token, holding: holding) }
      handlerLog.mutes.append(HandlerLog.Mute(on: span, off: nil))
      let isLocked = subject.isLocked(token)
      if !handlerLog.isOnce { checks.expect(.g9, wasThere && isLocked, "\(handlerLog) is not locked after lock") }
    }
  }

  // MARK: The end

  /// Waits until nothing moves any more, and verifiers.
  func finish() async {
    context.director.begin(.quiesce)
    let ran = await eventually(within: 60) { errands.value == 0 }
    checks.expect(.g20, ran, "\(errands.value) blocks never ran")
    for senderLog in senderLogs { await senderLog.settle() }
    settled.start = Clock.now
    await subject.quiesce()
    await subject.quiesce()  // what handlers posted meanwhile, too
    settled.finish()
    context.director.begin(.verifier)
    for handlerLog in handlerLogs { handlerLog.closeRemoval() }
    let calls = handlerLogs.reduce(0) { $0 + $1.calls.count }
    var verifier = Verifier(self)
    verifier.run()
    await Task.yield()
    let later = handlerLogs.reduce(0) { $0 + $1.calls.count }
    checks.expect(.g7, later == calls, "\(later - calls) calls began after quiesce had returned")
    for handlerLog in handlerLogs { (handlerLog.reaction, handlerLog.trouble) = (nil, nil) }  // they may hold the event, which holds them
    context.countOverlaps()
  }
}
