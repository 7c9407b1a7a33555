import Eventing
import Synchronization

/// One handler as the oracle sees it: what was done to it, and every call of it.
///
/// The calls are logged without any lock: a handler that runs one call at a time needs none, and if it does not the thread sanitizer says so.
// Safe: `calls` is written by one call at a time (`inside` tells if not), under `gate` where calls may overlap; all else is written by the one
// worker, or owner, that the handler belongs to. Read when all have ended.
final class HandlerLog: @unchecked Sendable, CustomStringConvertible {
  struct Call: Sendable {
    let senderLog: Int32
    let index: Int32
    /// The first line of the handler.
    let at: UInt64
  }

  /// A time during which the handler was silenced.
  struct Mute: Sendable {
    var on: Span
    /// Still silenced if nil.
    var off: Span?
  }

  /// What of a keyed event a handler listens to.
  enum Audience: Sendable, Equatable {
    case all, anyKey, untargeted
    case key(Int32)

    func includes(_ key: Int32?) -> Bool {
      switch self {
      case .all: true
      case .anyKey: key != nil
      case .untargeted: key == nil
      case .key(let mine): key == mine
      }
    }
  }

  let place: Place
  var audience = Audience.all
  var priority = 0
  let isOnce: Bool
  let name: String?
  let checks: Checks
  /// Throws at every so many-th call; 0 for never.
  let throwsEvery: Int
  /// Where the random numbers begin that say which of its calls meet a fault: from the seed.
  var fate: UInt64 = 0
  /// Faults that its call makes the event meet.
  var trouble: (@Sendable (StressPayload, inout Random) -> Void)?
  /// Called first thing in each call.
  var reaction: (@Sendable (StressPayload) -> Void)?

  var token: HandlerToken?
  var adding = Span.open
  /// Removed, or its owner let go.
  var removing: Span?
  /// It ends with an owner.
  var hasOwner = false
  /// Removed on its own serial context, or with its owner: then nothing at all may begin afterwards.
  var isRemovalStrict = false
  var mutes: [Mute] = []
  var isMuted: Bool { mutes.last.map { $0.off == nil } ?? false }

  private(set) var calls: [Call] = []
  private let inside = Atomic<Int>(0)
  private let gate = Atomic<Bool>(false)
  private let ended = Counter()

  /// Where its removal ended on another thread; 0 for nowhere, and not yet.
  private let endOfRemoval = Atomic<UInt64>(0)

  init(_ place: Place, isOnce: Bool = false, named name: String? = nil, throwsEvery: Int = 0, _ checks: Checks) {
    self.place = place
    self.isOnce = isOnce
    self.name = name
    self.throwsEvery = throwsEvery
    self.checks = checks
  }

  var description: String { "\(isOnce ? "once " : "")handler \(token?.id ?? 0) (\(place))" }

  /// Its removal ends on another thread than the worker's: with its owner, or where its calls are made.
  func removalEnded() { endOfRemoval.store(Clock.now, ordering: .relaxed) }

  /// For the verifiers, when all have ended.
  func closeRemoval() {
    let time = endOfRemoval.load(ordering: .relaxed)
    if time > 0 { removing?.end = time }
  }

  /// How many calls have ended.
  var endedCount: Int { ended.value }

  /// A call of a synchronous handler.
  func call(_ payload: StressPayload, _ canary: Canary) throws {
    begin(payload, canary)
    reaction?(payload)
    var luck = luck(Int(payload.senderLog), Int(payload.index)).others
    checks.faults.delay(&luck)
    trouble?(payload, &luck)
    end()
    try fail(payload)
  }

  /// A call of an asynchronous handler, which suspends now and then.
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
    if !canary.isAlive || !payload.canary.isAlive { checks.violate(.g22, "\(self) holds what is not its own") }
    if !audience.includes(payload.key) {
      checks.violate(
        .g21,
        "\(self), which listens to \(audience), was told what was for \(payload.key.map { "key \($0)" } ?? "no key")")
    }
    switch place {
    case .concurrent, .task:
      if place == .concurrent, others >= Place.limit {
        checks.violate(.g13, "\(others + 1) calls of \(self) at once; \(Place.limit) may be")
      }
      while gate.exchange(true, ordering: .acquiring) { RawThread.giveWay() }
      calls.append(call)
      gate.store(false, ordering: .releasing)
    default:
      guard others == 0 else { return checks.violate(.g13, "\(self) was called while a call of it was running") }
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

  /// Whether it throws when it is called with that payload: so the verifier knows, too.
  func isFailing(_ senderLog: Int, _ index: Int) -> Bool {
    if throwsEvery > 0, index % throwsEvery == 0 { return true }
    var luck = luck(senderLog, index).throwing
    return checks.faults.isDue(.throw, &luck)
  }

  /// The same for the same payload, whenever it comes.
  private func luck(_ senderLog: Int, _ index: Int) -> (throwing: Random, others: Random) {
    let seed = fate &+ UInt64(senderLog) << 32 &+ UInt64(index)
    return (Random(seed: seed), Random(seed: ~seed))
  }
}
