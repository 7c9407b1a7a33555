import Eventing
import EventingTesting

/// An event with a few handlers on lanes in a simulation, and a check of all that they receive.
///
/// A seed chooses the steps of the tasks, and how long each call takes.
// Safe: a simulation runs on one thread.
final class LaneWorld: @unchecked Sendable {
  enum Step: Sendable {
    case post, submit, send, hold, lock, unlock, remove, finish, quiesce, quiesceLane
    /// Sleeps for a millisecond, which is as long as each delay.
    case sleep
    /// Posts with a key that no occurrence has had.
    case newKey
  }

  enum Place: Sendable {
    case inOrder, concurrent, shared, task
  }

  /// The properties in which the handlers differ.
  struct Plan: Sendable {
    var place = Place.inOrder
    var bound = Buffering.unbounded
    /// The largest number of payloads of a call; `nil` for a handler without batches.
    var batch: Int?
    /// Whether batches gather payloads for a millisecond.
    var gathers = false
    var isByKey = false
    /// Whether the handler is tried up to three times. For odd numbers the first attempt fails, and
    /// for every second of them the second one, too.
    var isRetried = false
    var isRestarting = false
  }

  struct Occurrence: Sendable {
    let number: Int
    let key: Int
    let canary: Canary
  }

  /// A key that counts as alive until the lane has forgotten it.
  struct Key: Hashable, Sendable {
    let number: Int
    let canary: Canary
    static func == (one: Key, other: Key) -> Bool { one.number == other.number }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  // Safe: a simulation runs on one thread.
  final class Hearer: @unchecked Sendable {
    let index: Int
    let plan: Plan
    let limit: Int
    var token: HandlerToken?
    /// The number of attempts for each occurrence.
    var attempts: [Int: Int] = [:]
    /// The last occurrence of each key, or of all keys, for which the handler was called.
    var last: [Int: Int] = [:]
    /// The occurrences whose attempt failed last of their key, and which may be tried again.
    var failed: [Int: Int] = [:]
    /// The occurrences that a lock keeps from a further attempt.
    var givenUp: Set<Int> = []
    /// The occurrences that were tried again after the end of the event.
    var late: Set<Int> = []
    /// The instant at which the last attempt for an occurrence failed.
    var failures: [Int: ManualClock.Instant] = [:]
    /// The time at which the next attempt or call must begin, if it begins at all.
    var due: ManualClock.Instant?
    var running: [Int] = []
    var isLocked = false
    /// Whether the last lock holds nothing.
    var isDeaf = false
    var isRemoved = false
    /// Whether a lock that holds nothing, the removal or the end may have skipped occurrences.
    var isCut = false
    /// The time of the last change of a lock.
    var lastLock = 0

    /// Returns whether an attempt that has begun fails.
    func fails(_ number: Int) -> Bool {
      plan.isRetried && number % 2 == 1 && attempts[number, default: 0] <= (number % 4 == 3 ? 2 : 1)
    }

    init(_ index: Int, _ plan: Plan, _ limit: Int) { (self.index, self.plan, self.limit) = (index, plan, limit) }

    var isInOrder: Bool { limit == 1 && (plan.batch == nil || !plan.isByKey) }
    var isOrdered: Bool { isInOrder || plan.isByKey }
    func group(_ key: Int) -> Int { isInOrder ? 0 : key }
  }

  struct Violation: Error, CustomStringConvertible {
    let description: String
  }
  struct Refused: Error {}

  var event: Event<Occurrence>? = Event("small")
  var lane: HandlerLane?
  let live = LiveCount()
  let payloads = LiveCount()
  private(set) var hearers: [Hearer] = []
  /// A closure that each call runs, with its handler and the numbers of its occurrences.
  var reaction: (@Sendable (LaneWorld, Hearer, [Int]) async -> Void)?
  /// Whether the calls for the occurrences up to now return at once.
  var quick = 0
  private(set) var keys: [Int] = []
  /// The time of each occurrence, and the number of handlers that must account for it.
  private var sent: [(time: Int, expected: Int)] = []
  private var tickets: [Int: SendTicket] = [:]
  private(set) var reports: [Int: SendReport] = [:]
  /// The first attempts on a shared lane, in their order. `held` is the time of a change of a lock
  /// after the occurrence, if there was one.
  private var begun: [(number: Int, index: Int, held: Int?)] = []
  private var time = 0
  private var wasHeld = false
  private var isFinished = false
  private var settled = 0
  private var violation: Violation?
  private var random: SeededGenerator

  init(_ seed: UInt64) { random = SeededGenerator(seed: seed) }

  func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
  func pick<Choice>(_ choices: Choice...) -> Choice { choices[below(choices.count)] }
  func fail(_ text: String) { violation = violation ?? Violation(description: text) }

  // MARK: Handlers

  func add(_ plan: Plan) {
    if plan.place == .shared, lane == nil { lane = HandlerLane() }
    let limit = plan.isRestarting ? 1 : [.inOrder: 1, .concurrent: 2, .shared: lane?.limit ?? 1][plan.place] ?? .max
    let hearer = Hearer(hearers.count, plan, limit)
    let delivery: AsyncDelivery =
      switch plan.place {
      case .inOrder: .inOrder
      case .concurrent: .concurrent(limit: 2)
      case .shared: .lane(lane!)
      case .task: .task
      }
    hearers.append(hearer)
    hearer.token = event?.add(modified(handler(hearer, delivery), hearer))
  }

  private func handler(_ hearer: Hearer, _ delivery: AsyncDelivery) -> Handler<Occurrence> {
    let canary = Canary(live)
    guard let batch = hearer.plan.batch else {
      return Handler(on: delivery) { [self] payload async throws in
        defer { canary.sing() }
        try await called(hearer, [payload])
      }
    }
    return Handler(on: delivery) { [self] batch async throws in
      defer { canary.sing() }
      try await called(hearer, batch)
    }.batched(of: batch, within: hearer.plan.gathers ? .milliseconds(1) : nil, clock: Simulation.clock)
  }

  private func modified(_ handler: Handler<Occurrence>, _ hearer: Hearer) -> Handler<Occurrence> {
    var handler = handler.with(.named("\(hearer.index)"))
    if hearer.plan.place != .task { handler = handler.with(.buffering(hearer.plan.bound)) }
    if hearer.plan.isByKey { handler = handler.with(.inOrder { [live] in Key(number: $0.key, canary: Canary(live)) }) }
    if hearer.plan.isRetried {
      let delay = Duration.milliseconds(1)
      handler = handler.with(
        .retrying(
          .exponential(from: delay, to: delay, attempts: 3, jitter: false), clock: Simulation.clock))
    }
    return hearer.plan.isRestarting ? handler.with(.cancellingPrevious) : handler
  }

  private func called(_ hearer: Hearer, _ payloads: [Occurrence]) async throws {
    let numbers = payloads.map(\.number)
    guard let first = numbers.first else { return fail("handler \(hearer.index) got an empty batch") }
    begin(hearer, first, numbers)
    if first >= quick {
      for _ in 0..<below(3) { await Task.yield() }
      if below(4) == 0 { try? await Simulation.clock.sleep(for: .milliseconds(1)) }
      await reaction?(self, hearer, numbers)
    }
    withExtendedLifetime(payloads) {}
    hearer.running.removeAll { $0 == first }
    if hearer.fails(first) {
      hearer.failed[hearer.group(keys[first])] = first
      hearer.failures[first] = Simulation.clock.now
      if hearer.isLocked, hearer.isDeaf, !hearer.plan.isRestarting { hearer.givenUp.insert(first) }
      throw Refused()
    }
  }

  /// Checks and records an attempt.
  private func begin(_ hearer: Hearer, _ first: Int, _ numbers: [Int]) {
    time += 1
    let (plan, group, name) = (hearer.plan, hearer.group(keys[first]), "handler \(hearer.index) with \(numbers)")
    if numbers.count > plan.batch ?? 1 { fail("too large a batch: \(name)") }
    if hearer.isLocked || hearer.isRemoved { fail("\(name) under a lock, or after its removal") }
    if hearer.running.count >= hearer.limit { fail("\(name) beside \(hearer.running)") }
    if plan.place == .shared, hearers.reduce(0, { $0 + $1.running.count }) >= lane?.limit ?? .max {
      fail("\(name) although the lane is full")
    }
    if plan.isByKey, numbers.contains(where: { keys[$0] != keys[first] }) { fail("several keys: \(name)") }
    if plan.isByKey, hearer.running.contains(where: { keys[$0] == keys[first] }) { fail("\(name), whose key is busy") }
    hearer.running.append(first)
    if let due = hearer.due.take(), due < Simulation.clock.now { fail("\(name) begins too late") }
    if hearer.fails(first), hearer.attempts[first] != nil {
      if hearer.givenUp.contains(first) { fail("\(name) is tried again after a lock") }
      if isFinished, !hearer.late.insert(first).inserted {
        fail("\(name) is tried again after the end")
      }
      if hearer.failed.removeValue(forKey: group) != first, hearer.isOrdered { fail("\(name) has lost its place") }
      for number in numbers { hearer.attempts[number, default: 0] += 1 }
      return
    }
    if hearer.failed.removeValue(forKey: group) != nil, hearer.isOrdered, !hearer.isCut, !plan.isRestarting {
      fail("\(name) came between two attempts")
    }
    for number in numbers {
      if hearer.attempts.updateValue(1, forKey: number) != nil { fail("\(name) once more") }
      if hearer.isOrdered, number < hearer.last[group, default: -1] { fail("\(name) comes too late") }
      if number < settled { fail("\(name) after quiesce had returned") }
      hearer.last[group] = number
    }
    let held = hearer.lastLock < sent[first].time ? nil : hearer.lastLock
    if !plan.gathers { begun.append((first, hearer.index, held)) }
  }

  // MARK: Steps

  /// Runs tasks of random steps.
  func run(_ steps: [Step], tasks: Int = 3, length: Int = 5) async {
    let programs = (0..<tasks).map { _ in (0..<length).map { _ in steps[below(steps.count)] } }
    await withTaskGroup(of: Void.self) { group in
      for program in programs {
        group.addTask { [self] in
          for step in program {
            await perform(step)
            if below(3) == 0 { await Task.yield() }
          }
        }
      }
    }
  }

  /// Makes the next occurrence.
  func next(key: Int? = nil) -> Occurrence {
    time += 1
    for hearer in hearers where hearer.plan.isRestarting { noteDue(hearer) }
    keys.append(key ?? below(2))
    sent.append((time, isFinished ? 0 : hearers.count { !$0.isRemoved }))
    return Occurrence(number: keys.count - 1, key: keys[keys.count - 1], canary: Canary(payloads))
  }

  func perform(_ step: Step) async {
    guard let event else { return }
    let hearer = hearers[below(hearers.count)]
    switch step {
    case .post: event.post(next())
    case .newKey: event.post(next(key: 1_000_000 + keys.count))
    case .submit:
      let payload = next()
      tickets[payload.number] = event.submit(payload)
    case .send: await send(next())
    case .hold: lock(hearer, holding: .unbounded)
    case .lock: lock(hearer, holding: nil)
    case .unlock: unlock(hearer)
    case .remove:
      (hearer.isRemoved, hearer.isCut) = (true, true)
      if let token = hearer.token { event.remove(token) }
    case .finish:
      for hearer in hearers {
        hearer.isCut = true
        guard !isFinished else { continue }
        if hearers.count == 1 { noteDue(hearer) }
      }
      isFinished = true
      event.finish()
    case .quiesce, .quiesceLane:
      let (before, isExact) = (keys.count, !wasHeld)
      if step == .quiesceLane { await lane?.quiesce() } else { await event.quiesce() }
      if isExact, !wasHeld, step == .quiesce { settled = max(settled, before) }
    case .sleep: try? await Simulation.clock.sleep(for: .milliseconds(1))
    }
  }

  /// Notes that a delay of the only call ends at once.
  private func noteDue(_ hearer: Hearer) {
    guard hearer.limit == 1, !hearer.failed.isEmpty, hearer.running.isEmpty, !hearer.isLocked, !isFinished else {
      return
    }
    hearer.due = Simulation.clock.now
  }

  func send(_ payload: Occurrence) async {
    let number = payload.number
    let report = await event?.send(payload)
    reports[number] = report
  }

  private func lock(_ hearer: Hearer, holding: Buffering?) {
    guard !hearer.isLocked, let token = hearer.token else { return }
    event?.lock(token, holding: holding)
    (hearer.isLocked, wasHeld) = (true, true)
    (hearer.due, hearer.isDeaf) = (nil, holding == nil)
    if hearer.isDeaf {
      hearer.isCut = true
      if !hearer.plan.isRestarting {
        // If the delay is over, the lock has to last until the attempt begins.
        hearer.givenUp.formUnion(
          hearer.failed.values.filter { number in
            hearer.failures[number].map { $0.duration(to: Simulation.clock.now) < .milliseconds(1) } ?? false
          })
      }
    }
    noteLock(hearer)
  }

  private func unlock(_ hearer: Hearer) {
    guard hearer.isLocked, let token = hearer.token else { return }
    hearer.isLocked = false
    // The lane may not have noted a failure yet that came at this time. Then it meets no lock.
    hearer.givenUp = hearer.givenUp.filter { hearer.failures[$0] != Simulation.clock.now }
    noteLock(hearer)
    event?.unlock(token)
  }

  private func noteLock(_ hearer: Hearer) {
    time += 1
    hearer.lastLock = time
  }

  // MARK: Judging

  /// Ends all locks, lets all calls end, and checks the calls, the reports and the lifetimes.
  func finish() async throws {
    for hearer in hearers { unlock(hearer) }
    try? await Simulation.clock.sleep(for: .seconds(2))
    // All that was sent has been received by now, without a barrier that opens batches.
    for snapshot in await event?.handlers() ?? [] where snapshot.waitingCount > 0 {
      fail("\(snapshot.waitingCount) wait without an end")
    }
    var count = -1
    while count < keys.count {  // calls may have sent more meanwhile
      count = keys.count
      await event?.quiesce()
    }
    for (number, ticket) in tickets { reports[number] = await ticket.report }
    judgeReports()
    if let event { for snapshot in await event.handlers() { judgeCounts(snapshot) } }
    judgeOrder()
    if payloads.alive > 0 { fail("\(payloads.alive) payloads are left") }
    if Simulation.clock.sleeperCount > 0 { fail("a timer is left") }
    try await end()
  }

  /// Ends the event, and checks that nothing is left of it.
  func end() async throws {
    event?.finish()
    await event?.quiesce()
    (event, lane) = (nil, nil)
    for hearer in hearers { hearer.token = nil }
    while hearers.contains(where: { !$0.running.isEmpty }) { try? await Simulation.clock.sleep(for: .milliseconds(1)) }
    // Until nothing else can run. No timer of a batch or of a delay ends meanwhile.
    try? await Simulation.clock.sleep(for: .nanoseconds(1))
    if live.alive + payloads.alive > 0 { fail("\(live.alive) closures and keys, \(payloads.alive) payloads are left") }
    if let violation { throw violation }
  }

  private func judgeReports() {
    for (number, report) in reports {
      let ended = report.delivered + report.failures.count
      let outcomes = ended + report.skipped + report.dropped + report.deferred + report.held
      if outcomes != sent[number].expected { fail("\(number) has \(outcomes) outcomes: \(report)") }
      let calls = hearers.count { $0.attempts[number] != nil }
      let isReplaced = hearers.contains { $0.plan.isRestarting }
      if calls < ended || calls > ended + report.deferred + report.held, !isReplaced {
        fail("\(number) had \(calls) calls: \(report)")
      }
    }
  }

  private func judgeCounts(_ snapshot: HandlerSnapshot) {
    guard let hearer = hearers.first(where: { "\($0.index)" == snapshot.name }), !hearer.isRemoved else { return }
    let (calls, count) = (hearer.attempts.count, sent.count { $0.expected > 0 })
    let sum = snapshot.callCount + snapshot.droppedCount + snapshot.skippedCount
    let text = "\(snapshot.callCount) calls, \(snapshot.droppedCount) dropped, \(snapshot.skippedCount) skipped"
    if hearer.plan.isRestarting ? sum < count : sum != count { fail("of \(count): \(text)") }
    if snapshot.callCount != calls { fail("\(calls) calls, and not \(snapshot.callCount)") }
    if snapshot.waitingCount != 0 { fail("\(snapshot.waitingCount) wait") }
    if snapshot.skippedCount > 0, !hearer.isCut { fail("skipped without a reason: \(text)") }
    if snapshot.droppedCount > 0, hearer.plan.bound == .unbounded, !hearer.plan.isRestarting {
      fail("dropped without a bound: \(text)")
    }
  }

  /// Checks that the handlers of a shared lane were called in the order of the occurrences.
  private func judgeOrder() {
    guard let lane, lane.limit == 1, hearers.allSatisfy({ $0.plan.place == .shared && !$0.plan.isByKey }) else {
      return
    }
    var (last, latest) = ((-1, -1), 0)
    for (number, index, held) in begun {
      if held == nil ? (number, index) < last : held! < latest {
        fail("handler \(index) with \(number) came after handler \(last.1) with \(last.0) on the lane")
      }
      if held == nil { (last, latest) = ((number, index), max(latest, sent[number].time)) }
    }
  }
}
