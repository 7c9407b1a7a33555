import Eventing
import Synchronization

/// The oracle's record of one handler: its registration, its locks and its calls.
///
/// A handler that runs one call at a time appends to `calls` without a lock. If no synchronization
/// orders two of its calls, the thread sanitizer reports the race.
// Safe: if the handler runs one call at a time, only the running call writes `calls`, and `inside`
// checks that no calls overlap. If calls of the handler may overlap, they write `calls` under
// `gate`. The worker or owner of the handler writes all other fields. The verifiers read when all
// calls have ended.
final class HandlerLog: @unchecked Sendable, CustomStringConvertible {
  struct Call: Sendable {
    let senderLog: Int32
    let index: Int32
    /// The time at which the call executed the handler's first line.
    let at: UInt64
  }

  /// A time during which the handler was locked.
  struct LockSpan: Sendable {
    /// The times between which the call of `lock` ran.
    var on: Span
    /// The times between which the call of `unlock` ran. Nil while the handler is locked.
    var off: Span?
  }

  /// The payloads of a keyed event that a handler receives.
  enum Audience: Sendable, Equatable {
    case all, anyKey
    case key(Int32)

    func includes(_ key: Int32?) -> Bool {
      switch self {
      case .all: true
      case .anyKey: key != nil
      case .key(let mine): key == mine
      }
    }
  }

  let place: HandlerPlace
  var audience = Audience.all
  var priority = 0
  let isOnce: Bool
  let name: String?
  let checks: Checks
  /// The step between planned failures: the handler throws for each payload whose number is a
  /// multiple of this. 0 for no planned failures.
  let throwsEvery: Int
  /// Whether no call throws, even if a fault is due.
  var neverThrows = false
  /// The seed of the random numbers that decide which calls meet a fault. It derives from the seed
  /// of the run.
  var fate: UInt64 = 0
  /// A closure that each call of a synchronous handler runs. It may inject faults into the
  /// handler's event.
  var trouble: (@Sendable (StressPayload, inout Random) -> Void)?
  /// A closure that each call runs when the call has been recorded.
  var reaction: (@Sendable (StressPayload) -> Void)?

  var token: HandlerToken?
  var adding = Span.open
  /// The times between which the removal ran, or the release of the handler's owner.
  var removing: Span?
  /// Whether the handler has an owner, whose release removes the handler.
  var hasOwner = false
  /// Whether the removal runs where the handler runs (on its serial queue, its actor or the main
  /// actor), or is the release of the handler's owner. Then no call at all may begin after the
  /// removal.
  var isRemovalStrict = false
  var locks: [LockSpan] = []
  var isLocked: Bool { locks.last.map { $0.off == nil } ?? false }

  private(set) var calls: [Call] = []
  /// The number of calls that are running.
  private let inside = Atomic<Int>(0)
  /// A spin lock. It guards `calls` if the calls of this handler may overlap: the handler then runs
  /// at the place `concurrent` or `task`.
  private let gate = Atomic<Bool>(false)
  private let ended = Counter()

  /// The time at which the removal ended, if it ended on another thread than the worker's.
  /// Otherwise 0.
  private let endOfRemoval = Atomic<UInt64>(0)

  init(_ place: HandlerPlace, isOnce: Bool = false, named name: String? = nil, throwsEvery: Int = 0, _ checks: Checks) {
    self.place = place
    self.isOnce = isOnce
    self.name = name
    self.throwsEvery = throwsEvery
    self.checks = checks
  }

  var description: String { "\(isOnce ? "once " : "")handler \(token?.id ?? 0) (\(place))" }

  /// Records the current time as the end of the removal. The `deinit` of the handler's owner calls
  /// this, and so does a removal that runs where the handler runs (``isRemovalStrict``). Both may
  /// run on a thread that is not the worker's.
  func removalEnded() { endOfRemoval.store(Clock.now, ordering: .relaxed) }

  /// Copies the recorded end of the removal to `removing`, for the verifiers. The trial does this
  /// when all calls of the handler have ended.
  func closeRemoval() {
    let time = endOfRemoval.load(ordering: .relaxed)
    if time > 0 { removing?.end = time }
  }

  /// The number of calls that have ended.
  var endedCount: Int { ended.value }

  /// Performs a call of a synchronous handler: records and checks it, and injects faults.
  func call(_ payload: StressPayload, _ canary: Canary) throws {
    begin(payload, canary)
    reaction?(payload)
    var luck = luck(Int(payload.senderLog), Int(payload.index)).others
    checks.faults.delay(&luck)
    trouble?(payload, &luck)
    end()
    try fail(payload)
  }

  /// Performs a call of an asynchronous handler: records and checks it, and injects faults.
  ///
  /// - Parameter pausing: Whether the call suspends if the payload's number is a multiple of 7.
  func call(_ payload: StressPayload, _ canary: Canary, pausing: Bool) async throws {
    begin(payload, canary)
    reaction?(payload)
    var luck = luck(Int(payload.senderLog), Int(payload.index)).others
    await checks.faults.delayTask(&luck, isSuspended: pausing && payload.index % 7 == 0)
    end()
    try fail(payload)
  }

  private func begin(_ payload: StressPayload, _ canary: Canary) {
    let now = Clock.now
    let others = inside.wrappingAdd(1, ordering: .relaxed).oldValue
    let call = Call(senderLog: payload.senderLog, index: payload.index, at: now)
    if !canary.isAlive || !payload.canary.isAlive { checks.violate(.g22, "\(self) uses a released object") }
    if !audience.includes(payload.key) {
      checks.violate(
        .g21,
        "\(self), for audience \(audience), got a payload for \(payload.key.map { "key \($0)" } ?? "no key")")
    }
    switch place {
    case .concurrent, .task:
      if place == .concurrent, others >= HandlerPlace.limit {
        checks.violate(.g13, "\(others + 1) calls of \(self) overlap; the limit is \(HandlerPlace.limit)")
      }
      while gate.exchange(true, ordering: .acquiring) { RawThread.giveWay() }
      calls.append(call)
      gate.store(false, ordering: .releasing)
    default:
      guard others == 0 else { return checks.violate(.g13, "\(self) was called while another call of it was running") }
      calls.append(call)
    }
  }

  private func end() {
    inside.wrappingSubtract(1, ordering: .relaxed)
    ended.add()
  }

  private func fail(_ payload: StressPayload) throws {
    guard isFailing(Int(payload.senderLog), Int(payload.index)) else { return }
    checks.faults.count(.throw)
    throw Faults.Problem()
  }

  // MARK: Faults

  /// Returns whether the handler throws for this payload. The verifiers use it to predict failures.
  func isFailing(_ senderLog: Int, _ index: Int) -> Bool {
    if neverThrows { return false }
    if throwsEvery > 0, index % throwsEvery == 0 { return true }
    var luck = luck(senderLog, index).throwing
    return checks.faults.isDue(.throw, &luck)
  }

  /// Returns the random numbers for a payload. They do not depend on the time of the call.
  private func luck(_ senderLog: Int, _ index: Int) -> (throwing: Random, others: Random) {
    let seed = fate &+ UInt64(senderLog) << 32 &+ UInt64(index)
    return (Random(seed: seed), Random(seed: ~seed))
  }
}
