import Dispatch
import Eventing

/// A payload that is known by its number, and whose copies are counted.
struct CheckedPayload: Sendable {
  let id: Int
  let canary: Canary
}

/// Random numbers for a plan, and fixed ones for a payload.
extension SeededGenerator {
  mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// Returns a number that depends only on a payload and a purpose, so that each thread gets the
  /// same number.
  static func number(of id: Int, for purpose: Int) -> Int {
    var random = SeededGenerator(seed: UInt64(id) << 12 ^ UInt64(purpose))
    return Int(random.next() >> 2)
  }
}

/// The plan of a random handler: its place, its modifiers, and its end.
struct LaneCheckPlan: Sendable, CustomStringConvertible {
  enum Place: CaseIterable, Sendable {
    case queue, background, main, mainAsync, inOrder, backgroundAsync, concurrent, task, actor, shared, sharedWide
  }
  enum Pace: Sendable { case debounced, throttled }
  /// The kinds of locks that a handler gets. Locks that hold occurrences lose none.
  enum Locks: CaseIterable, Sendable { case none, holding, any }

  static let wide = 3
  let number: Int
  let event: Int
  let place: Place
  var bound = Buffering.unbounded
  var keys: Int?
  var batch: Int?
  var within: Duration?
  var attempts = 1
  var isDelayed = false
  var timeLimit: Duration?
  var isRestarting = false
  var pace: Pace?
  let isOnce: Bool
  let locks: Locks
  let isRemoved: Bool
  let losesOwner: Bool

  init(_ number: Int, of events: Int, cancels: Bool, _ random: inout SeededGenerator) {
    self.number = number
    event = random.below(events)
    place = Place.allCases[random.below(Place.allCases.count)]
    isOnce = random.chance(6)
    locks = [.none, .none, .holding, .any][random.below(4)]
    isRemoved = random.chance(12)
    losesOwner = random.chance(8)
    if place != .task, place != .actor, random.chance(25) {
      bound = [.oldest(3), .newest(3), .newest(1), .suspendingSender(2), .newest(50)][random.below(5)]
    }
    if random.chance(30) { keys = 1 + random.below(6) }
    // The delays of a call on `.task` end when the task of its sender is cancelled. Then the number
    // of its attempts is not known.
    if random.chance(35), place != .task || !cancels {
      (attempts, isDelayed) = (2 + random.below(3), random.chance(50))
    }
    if place != .task, place != .queue, place != .background, random.chance(30) {
      (batch, within) = (1 + random.below(8), random.chance(50) ? nil : .milliseconds(1))
    } else if random.chance(12) {
      (isRestarting, bound) = (true, .unbounded)
    }
    if !isSynchronous, random.chance(12) { timeLimit = .milliseconds(4) }
    if random.chance(10) { pace = random.chance(50) ? .debounced : .throttled }
  }

  var isSynchronous: Bool { place == .queue || place == .background || place == .main }
  /// The largest number of calls at a time.
  var limit: Int {
    switch place {
    case .concurrent, .sharedWide: isRestarting ? 1 : LaneCheckPlan.wide
    case .task: isRestarting ? 1 : .max
    default: 1
    }
  }
  /// Whether all calls come in the order of the event. A batch of one key may overtake another key.
  var isInOrder: Bool { limit == 1 && (batch == nil || keys == nil) }
  /// Whether only the calls of one key come in order, one at a time.
  var isByKey: Bool { keys != nil && !isInOrder }
  /// Whether the handler stays in its event until the end.
  var stays: Bool { !isOnce && !isRemoved && !losesOwner }
  /// Whether each payload reaches the handler.
  var getsAll: Bool { stays && locks != .any && bound == .unbounded && !isRestarting && pace == nil }
  /// Whether the last payload reaches the handler, although others may not.
  var getsTheLast: Bool {
    stays && locks != .any
      && (pace != nil || isRestarting || [.newest(3), .newest(1), .newest(50)].contains(bound) || getsAll)
  }

  func key(of id: Int) -> Int { keys.map { SeededGenerator.number(of: id, for: 7) % $0 } ?? 0 }
  /// The number of attempts with a payload that fail.
  func failures(of id: Int) -> Int {
    let roll = SeededGenerator.number(of: id, for: 100 + number) % 10
    return roll < 7 ? 0 : roll - 6
  }

  /// Makes the handler. Its calls go to one of the two closures.
  func handler(
    on lane: HandlerLane, isolatedTo stage: Stage, _ body: @escaping @Sendable ([CheckedPayload]) throws -> Void,
    async: @escaping @Sendable ([CheckedPayload]) async throws -> Void
  ) -> Handler<CheckedPayload> {
    var handler = plainHandler(on: lane, isolatedTo: stage, body, async: async)
    if let keys { handler = handler.with(.inOrder { SeededGenerator.number(of: $0.id, for: 7) % keys }) }
    if attempts > 1 {
      let delayed = RetryPolicy.exponential(from: .microseconds(100), to: .microseconds(300), attempts: attempts)
      handler = handler.with(.retrying(isDelayed ? delayed : .immediately(attempts: attempts)))
    }
    if let timeLimit { handler = handler.with(.timingOut(after: timeLimit)) }
    if isRestarting { handler = handler.with(.cancellingPrevious) }
    switch pace {
    case .debounced: handler = handler.with(.debounced(for: .microseconds(500), atMost: .milliseconds(2)))
    case .throttled: handler = handler.with(.throttled(every: .milliseconds(1)))
    case nil: break
    }
    return isOnce ? handler.with(.once) : handler
  }

  private func plainHandler(
    on lane: HandlerLane, isolatedTo stage: Stage, _ body: @escaping @Sendable ([CheckedPayload]) throws -> Void,
    async: @escaping @Sendable ([CheckedPayload]) async throws -> Void
  ) -> Handler<CheckedPayload> {
    switch place {
    case .queue:
      let queue = DispatchQueue(label: "lane check", attributes: number % 2 == 0 ? [] : .concurrent)
      return Handler(.buffering(bound), on: .queue(queue)) { try body([$0]) }
    case .background: return Handler(.buffering(bound), on: SyncDelivery.background) { try body([$0]) }
    case .main:
      guard let batch else {
        return Handler(.buffering(bound), on: .main) { @MainActor payload in try body([payload]) }
      }
      return Handler(.buffering(bound), on: .main) { @MainActor batch in
        try body(batch)
      }.batched(of: batch, within: within)
    case .mainAsync:
      guard let batch else {
        return Handler(.buffering(bound), on: .main) { @MainActor payload in try await async([payload]) }
      }
      return Handler(.buffering(bound), on: .main) { @MainActor batch in
        try await async(batch)
      }.batched(of: batch, within: within)
    case .actor:
      guard let batch else {
        return Handler(isolatedTo: stage) { stage, payload in
          stage.assertIsolated()
          try await async([payload])
        }
      }
      return Handler(isolatedTo: stage) { stage, batch in
        stage.assertIsolated()
        try await async(batch)
      }.batched(of: batch, within: within)
    case .inOrder, .backgroundAsync, .concurrent, .task, .shared, .sharedWide:
      guard let batch else { return Handler(.buffering(bound), on: delivery(on: lane)) { try await async([$0]) } }
      return Handler(.buffering(bound), on: delivery(on: lane)) {
        try await async($0)
      }.batched(of: batch, within: within)
    }
  }

  private func delivery(on lane: HandlerLane) -> AsyncDelivery {
    switch place {
    case .shared, .sharedWide: .lane(lane)
    case .concurrent: .concurrent(limit: LaneCheckPlan.wide)
    case .task: .task
    case .backgroundAsync: .inOrder(priority: .utility)
    default: .inOrder
    }
  }

  var description: String {
    var parts = ["handler \(number) of event \(event) on \(place), \(bound)"]
    if let keys { parts.append("\(keys) keys") }
    if let batch { parts.append("batches of \(batch) within \(within.map { "\($0)" } ?? "no time")") }
    if attempts > 1 { parts.append("\(attempts) attempts\(isDelayed ? " with delays" : "")") }
    if timeLimit != nil { parts.append("time limit") }
    if isRestarting { parts.append("restarting") }
    if let pace { parts.append("\(pace)") }
    if isOnce { parts.append("once") }
    if locks != .none { parts.append("locks: \(locks)") }
    if isRemoved { parts.append("removed") }
    if losesOwner { parts.append("loses its owner") }
    return parts.joined(separator: ", ")
  }
}

/// The calls that the handlers on one lane make.
final class LaneCheckLane: Sendable {
  struct State: Sendable {
    var running = 0
    /// The handler whose call waits for another attempt, and so keeps its place on the lane.
    var between: Int?
    var isEnding = false
    /// The first attempts, in order.
    var calls: [(handler: Int, id: Int)] = []
  }
  let lane: HandlerLane
  let state = ConditionLock(State())

  init(limit: Int) { lane = HandlerLane("checked", limit: limit) }
}

/// A handler with all that its calls have shown.
final class LaneCheckHandler: Sendable {
  struct State: Sendable {
    /// The payloads, in the order of their first attempts.
    var order: [Int] = []
    var attempts: [Int: Int] = [:]
    /// The batches of several payloads, by their first one.
    var batches: [Int: [Int]] = [:]
    var calls = 0
    var ended: Set<Int> = []
    var running = 0
    var runningKeys: Set<Int> = []
    /// The payload that waits for another attempt, by key.
    var between: [Int: Int] = [:]
    /// The number of attempts under the present lock or after the removal; `nil` if neither.
    var late: Int?
    var isRemoved = false
    /// Whether the event ends while calls are made. Then an attempt may be the last one.
    var isEnding = false
    var isClosed = false
  }
  let plan: LaneCheckPlan
  let lane: LaneCheckLane?
  /// Whether a call between two attempts keeps its place before the other handlers of its lane.
  let keepsItsPlace: Bool
  let state = ConditionLock(State())
  /// Counts the closures of the handler.
  let closures = LiveCount()
  private let faults: Recorder<String>

  init(_ plan: LaneCheckPlan, on lane: LaneCheckLane?, locksEvents: Bool, _ faults: Recorder<String>) {
    (self.plan, self.lane, self.faults) = (plan, lane, faults)
    keepsItsPlace = lane?.lane.limit == 1 && plan.getsAll && plan.locks == .none && !locksEvents
  }

  func fail(_ what: String) { faults.record("\(plan): \(what)") }

  /// Checks and records the begin of an attempt. Returns its number.
  func begin(_ ids: [Int]) -> Int {
    guard let first = ids.first else {
      fail("an empty batch")
      return 1
    }
    let attempt = state.withLock { beginAttempt(ids, first, &$0) }
    guard let lane else { return attempt }
    lane.state.withLock { lane in
      lane.running += 1
      if lane.running > self.lane?.lane.limit ?? .max { fail("\(lane.running) calls on a lane") }
      if let between = lane.between, between != plan.number {
        fail("called between two attempts of handler \(between)")
      }
      lane.between = nil
      if attempt == 1 { for id in ids { lane.calls.append((plan.number, id)) } }
    }
    return attempt
  }

  private func beginAttempt(_ ids: [Int], _ first: Int, _ state: inout State) -> Int {
    let attempt = state.attempts[first, default: 0] + 1
    state.running += 1
    if state.running > plan.limit { fail("\(state.running) calls at a time") }
    if state.isClosed { fail("a call with \(ids) after the end") }
    if attempt > plan.attempts { fail("attempt \(attempt) with \(first)") }
    if ids.count > plan.batch ?? 1 { fail("a batch of \(ids.count)") }
    for id in ids {
      if state.attempts[id, default: 0] != attempt - 1 { fail("attempt \(attempt) with \(id) in the batch \(ids)") }
      if state.ended.contains(id) { fail("\(id) came again") }
      state.attempts[id] = attempt
      if plan.isByKey, plan.limit > 1, plan.key(of: id) != plan.key(of: first) { fail("a batch has two keys: \(ids)") }
    }
    if attempt == 1 {
      state.calls += 1
      state.order += ids
    }
    // A bound may drop the first payload of a batch that a lock holds.
    if attempt > 1, plan.bound == .unbounded, state.batches[first] != ids {
      fail("another batch at attempt \(attempt)")
    }
    state.batches[first] = ids
    let key = plan.isByKey ? plan.key(of: first) : 0
    if plan.isByKey, plan.limit > 1, !state.runningKeys.insert(key).inserted { fail("calls of key \(key) overlap") }
    if plan.getsAll, plan.isInOrder || plan.isByKey, let waiting = state.between.removeValue(forKey: key),
      waiting != first
    {
      fail("\(first) came between two attempts with \(waiting)")
    }
    // A worker may have claimed a call just before.
    if let late = state.late {
      state.late = late + 1
      if late >= plan.limit { fail("\(late + 1) attempts under a lock, or after the removal") }
    }
    return attempt
  }

  func end(_ ids: [Int], _ attempt: Int, isFailed: Bool) {
    guard let first = ids.first else { return }
    let isTriedAgain = isFailed && attempt < plan.attempts
    lane?.state.withLock {
      $0.running -= 1
      if isTriedAgain, keepsItsPlace, !$0.isEnding { $0.between = plan.number }
    }
    state.withLock { state in
      let key = plan.isByKey ? plan.key(of: first) : 0
      state.running -= 1
      state.runningKeys.remove(key)
      if isTriedAgain, !state.isEnding { state.between[key] = first }
      // After its time limit, an attempt that returned is tried again.
      if !isTriedAgain, plan.timeLimit == nil { state.ended.formUnion(ids) }
    }
  }

  func noteLocked() { state.withLock { if !$0.isRemoved { $0.late = 0 } } }
  func noteUnlocking() { state.withLock { if !$0.isRemoved { $0.late = nil } } }
  func noteRemoved() { state.withLock { ($0.isRemoved, $0.late) = (true, 0) } }
  /// Notes that the event is about to end.
  func noteEnding() {
    state.withLock { ($0.isEnding, $0.between) = (true, [:]) }
    lane?.state.withLock { ($0.isEnding, $0.between) = (true, nil) }
  }
  /// Notes that no call may begin any more.
  func close() { state.withLock { $0.isClosed = true } }
  /// Checks that a handler that has ended releases its closure.
  func checkRelease() async {
    if await !eventually({ closures.alive == 0 }) { fail("its closure is not released") }
  }
  /// Returns whether the call with a payload has returned.
  func hasReturned(_ id: Int) -> Bool {
    state.withLock { $0.ended.contains(id) || plan.timeLimit != nil && $0.attempts[id] != nil }
  }
}
