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
  nonisolated var listeners: any EventSource<Parcel> { get }
  /// A post by one of its handlers.
  nonisolated func postWithin(_ parcel: Parcel)
}

extension Event: TrialSubject where Payload == Parcel {
  nonisolated var listeners: any EventSource<Parcel> { self }
  nonisolated func postWithin(_ parcel: Parcel) { post(parcel) }
}

extension KeyedEvent: TrialSubject where Payload == Parcel {
  nonisolated var listeners: any EventSource<Parcel> { untargeted }
  nonisolated func postWithin(_ parcel: Parcel) { postUntargeted(parcel) }
}

/// An event under observation.
// Safe: as all trials.
final class Trial: AnyTrial, @unchecked Sendable {
  let event: Event<Parcel>

  init(_ stage: Stage) {
    event = Event<Parcel>("trial")
    super.init(stage, event) { [event] in event.add($0, $1, priority: $2) }
    stage.watch(event)
    add(witness)
  }

  var isGated: Bool { gates.last.map { $0.off == nil } ?? false }

  /// Locks or unlocks the event itself.
  func toggleGate(by worker: Worker) {
    if isGated {
      gates[gates.count - 1].off = worker.change(.lock) { event.unlock() }.span
      checks.expect(.g9, !event.isLocked, "the event is locked after unlock")
    } else {
      gates.append(Probe.Mute(on: worker.change(.lock) { event.lock(holding: holding) }.span, off: nil))
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
  let stage: Stage
  let subject: any TrialSubject
  private let addHandler: @Sendable (Probe, Places, Int) -> HandlerToken
  let places = Places()
  let witness: Probe
  /// Handlers that belong to no worker.
  var extraProbes: [Probe] = []
  /// Handlers that post have voices of their own.
  private(set) var extraVoices: [Voice] = []
  /// What locks do with what they skip; if they hold it, they excuse nothing that is missing.
  var holding = Holding.nothing
  /// When the event itself was locked.
  var gates: [Probe.Mute] = []
  /// The witness sees everything.
  var losesNothing: Bool { gates.isEmpty || holding != .nothing }
  /// Blocks on queues that still have to run.
  let errands = Counter()
  /// When everything had ended.
  private(set) var settled = Span.open

  var checks: Checks { stage.checks }
  var probes: [Probe] { extraProbes + stage.workers.flatMap(\.probes) }
  var voices: [Voice] { stage.workers.map(\.voice) + extraVoices }

  /// - Parameter attach: adds the handler of a probe, in one of the places, with a priority.
  init(_ stage: Stage, _ subject: any TrialSubject, _ attach: @escaping @Sendable (Probe, Places, Int) -> HandlerToken)
  {
    self.stage = stage
    self.subject = subject
    addHandler = attach
    witness = Probe(.inline, named: "witness", stage.checks)
    extraProbes = [witness]
    witness.trouble = makeTrouble(makeVoice())
  }

  func makeVoice() -> Voice {
    let voice = Voice(stage.workers.count + extraVoices.count)
    extraVoices.append(voice)
    return voice
  }

  // MARK: Changes

  func add(_ probe: Probe, priority: Int = 0) {
    probe.fate = stage.makeFate()
    attach(probe, priority)
  }

  private func attach(_ probe: Probe, _ priority: Int) {
    probe.priority = priority
    probe.adding = .open
    probe.token = addHandler(probe, places, priority)
    probe.adding.finish()
  }

  /// Adds a handler of the worker's.
  func add(_ probe: Probe, by worker: Worker, priority: Int = 0) {
    probe.fate = worker.makeFate()
    worker.change(.add) { attach(probe, priority) }
    worker.probes.append(probe)
  }

  /// Removes a handler of the worker's: by its token, by its name, or on its own serial context.
  func remove(_ probe: Probe, by worker: Worker) {
    guard let token = probe.token, probe.removing == nil else { return }
    let subject = subject
    switch (probe.place, worker.random.below(3)) {
    case (.queue, 0): removeStrictly(probe) { body in self.places.queue.async(execute: body) }
    case (.main, 0), (.mainAsync, 0): removeStrictly(probe) { body in Task { @MainActor in body() } }
    case (.isolated, 0):
      let room = places.room
      removeStrictly(probe) { body in Task { await room.perform(body) } }
    case (_, 1) where probe.name != nil:
      let (count, span) = worker.change(.remove) { subject.remove(named: probe.name ?? "") }
      probe.removing = span
      if !probe.isOnce { checks.expect(.g7, count == 1, "remove(named:) found \(count) of \(probe)") }
    default:
      let (wasThere, span) = worker.change(.remove) { subject.remove(token) }
      probe.removing = span
      if !probe.isOnce { checks.expect(.g7, wasThere, "remove did not find \(probe)") }
      checks.expect(.g11, !subject.remove(token), "\(probe) was removed twice")
    }
  }

  private func removeStrictly(_ probe: Probe, _ run: (@escaping @Sendable () -> Void) -> Void) {
    guard let token = probe.token else { return }
    errands.add()
    probe.removing = Span(start: Clock.now, end: .max)
    probe.isRemovalStrict = true
    run { [subject, errands] in
      _ = subject.remove(token)
      probe.removalEnded()
      errands.add(-1)
    }
  }

  /// Locks or unlocks a handler of the worker's.
  func toggleLock(_ probe: Probe, by worker: Worker) {
    guard let token = probe.token, probe.removing == nil else { return }
    let subject = subject
    if probe.isMuted {
      let (wasThere, span) = worker.change(.lock) { subject.unlock(token) }
      probe.mutes[probe.mutes.count - 1].off = span
      if !probe.isOnce { checks.expect(.g9, wasThere, "unlock did not find \(probe)") }
      checks.expect(.g9, !subject.isLocked(token), "\(probe) is locked after unlock")
    } else {
      let (wasThere, span) = worker.change(.lock) { subject.lock(token, holding: holding) }
      probe.mutes.append(Probe.Mute(on: span, off: nil))
      let isLocked = subject.isLocked(token)
      if !probe.isOnce { checks.expect(.g9, wasThere && isLocked, "\(probe) is not locked after lock") }
    }
  }

  // MARK: The end

  /// Waits until nothing moves any more, and judges.
  func finish() async {
    stage.director.begin(.quiesce)
    let ran = await eventually(within: 60) { errands.value == 0 }
    checks.expect(.g20, ran, "\(errands.value) blocks never ran")
    for voice in voices { await voice.settle() }
    settled.start = Clock.now
    await subject.quiesce()
    await subject.quiesce()  // what handlers posted meanwhile, too
    settled.finish()
    stage.director.begin(.judge)
    for probe in probes { probe.closeRemoval() }
    let calls = probes.reduce(0) { $0 + $1.calls.count }
    var judge = Judge(self)
    judge.run()
    await Task.yield()
    let later = probes.reduce(0) { $0 + $1.calls.count }
    checks.expect(.g7, later == calls, "\(later - calls) calls began after quiesce had returned")
    for probe in probes { (probe.reaction, probe.trouble) = (nil, nil) }  // they may hold the event, which holds them
    stage.countOverlaps()
  }
}
