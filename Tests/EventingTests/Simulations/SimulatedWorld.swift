import Dispatch
import Eventing
import EventingTesting

/// One event in a simulation, with its operations and an exact check of each result.
///
/// All steps run on one thread, so a count of steps is an exact clock. No call may begin after
/// `remove` or `lock` has returned, not even one step later.
// Safe: a simulation runs on one thread.
final class SimulatedWorld: @unchecked Sendable {
  /// The properties in which the programs differ.
  struct Mode: Sendable, Hashable {
    /// Whether locks hold all occurrences. Then every occurrence must be delivered in the end.
    var holds = false
    /// Whether a new handler receives the last two payloads.
    var replays = false
    /// Whether all handlers are inline and have no owner, so that delivery takes the fast path.
    var isPlain = false
    /// Whether handlers have modifiers.
    var isModified = false
    /// The kind of event that the programs use.
    var kind = EventKind.event
  }

  struct Violation: Error, CustomStringConvertible {
    let description: String
  }

  enum HandlerKind: CaseIterable, Sendable {
    case inline, main, background, inOrder, isolated, concurrent, task
    // Kinds of handlers with modifiers.
    case shared, keyed, batched, retried, debounced, throttled
    case sharedWide, sharedBatched, sharedRetried, batchedByKey, newestByKey, retriedByKey, isolatedRetried
    case debouncedOnMain, throttledOnMain, debouncedInBackground, throttledInBackground
    // Kinds with a bound.
    case newest, oldest, suspending
    // Kinds behind `removeDuplicates(by:)`.
    case distinct, distinctInBackground
    // Kinds of handlers for all payloads of a bus.
    case forAllOnQueue, forAllInBackground, forAllInOrder
    /// Whether a pace or a bound leaves out some occurrences, but not the last.
    var isPaced: Bool {
      switch self {
      case .debounced, .throttled, .debouncedOnMain, .throttledOnMain, .debouncedInBackground, .throttledInBackground,
        .newestByKey, .newest:
        true
      default: false
      }
    }
    /// The number of occurrences that may wait. Zero counts as one.
    var bound: Buffering { self == .newest ? .newest(0) : self == .oldest ? .oldest(0) : .suspendingSender(0) }
    var isDistinct: Bool { self == .distinct || self == .distinctInBackground }
    var isKeyed: Bool { self == .keyed || self == .batchedByKey || self == .newestByKey || self == .retriedByKey }
    var isRetried: Bool {
      self == .retried || self == .sharedRetried || self == .retriedByKey || self == .isolatedRetried
    }
    var isInOrder: Bool { self != .concurrent && self != .task && self != .sharedWide && !isKeyed }
    var isForAll: Bool { HandlerKind.forAll.contains(self) }
    static let forAll = [forAllOnQueue, forAllInBackground, forAllInOrder]
    static let plain = allCases.filter { !modified.contains($0) && !$0.isForAll }
    static let modified = [
      shared, keyed, batched, retried, debounced, throttled, sharedWide, sharedBatched, sharedRetried, batchedByKey,
      newestByKey, retriedByKey, isolatedRetried, debouncedOnMain, throttledOnMain, debouncedInBackground,
      throttledInBackground, newest, oldest, suspending, distinct, distinctInBackground,
    ]
  }

  /// The action of a handler in each of its calls.
  enum Reaction: CaseIterable, Sendable {
    case nothing, yields, posts, sends, removesItself, adds, lockOther, postsAndLocks, removesOther, throwsAnError
  }

  struct Suspect {
    let number: Int
    let place: HandlerKind
    let isOnce: Bool
    let reaction: Reaction
    /// The number of the object whose payloads the handler receives; `nil` for all payloads.
    var address: Int?
    var hearsAnnouncements = false
    /// The changes that the handler has heard an announcement of.
    var announced: Set<Int> = []
    var token: HandlerToken?
    var addCall: Int
    var addReturn = Int.max
    /// The time at which the removal of the handler, or the release of its owner, began.
    var removeCall: Int?
    var removeReturn: Int?
    var isLocked = false
    /// The times during which the handler or the event was locked.
    var mutes: [(on: Int, off: Int)] = []
    var calls: [(send: Int, at: Int)] = []
    var running = 0
    /// The occurrences whose first attempt failed, and whose second one has not begun.
    var failed: Set<Int> = []
    /// Whether the handler was ever locked by itself, and not only with the event.
    var wasLocked = false
    /// The occurrences whose first attempt failed.
    var attempted: Set<Int> = []
  }

  struct Send {
    let sender: Int
    let call: Int
    /// The number of the object that the payload is sent to.
    var address: Int?
    /// Whether the payload is sent through the other event of the bus.
    var isAside = false
    var end = Int.max
    var report: SendReport?
  }

  let mode: Mode
  /// The object that the handlers belong to: ``plain``, ``value`` or ``keyed``.
  let event: any SimulatedEvent
  let bus = EventBus()
  let plain: Event<Int>
  /// The other event of the bus.
  let aside: Event<Int>
  let value: Observed<Int>?
  let keyed: KeyedEvent<ObjectKey, Int>?
  /// The living objects that payloads are sent to, with their numbers.
  var addresses = [(number: -1, object: Address()), (number: -2, object: Address())]
  /// The last value that the first handler saw.
  var lastSet = -1
  let queue = DispatchQueue(label: "simulated")
  let live = LiveCount()
  private let room = Room()
  private let lane = HandlerLane("shared")
  private let wideLane = HandlerLane("wide", limit: 2)
  private static let policy = RetryPolicy.exponential(from: .milliseconds(1), to: .milliseconds(2), attempts: 2)
  /// The number of running calls on the shared lane.
  private var sharedRunning = 0
  /// The keys of the running calls, by handler.
  private var runningKeys: [Int: [Int]] = [:]
  var owners: [Int: Owner] = [:]
  var time = 0
  var handlers: [Suspect] = []
  var sends: [Send] = []
  var violation: Violation?
  var isEventLocked = false
  /// The number of `for await` loops over the event. A report may count each of them as delivered.
  var loops = 0
  private var random: SeededGenerator
  var nested = 0
  var isClosing = false

  /// An actor for handlers to run on.
  actor Room {}
  struct Refused: Error {}

  init(_ mode: Mode, seed: UInt64) {
    self.mode = mode
    random = SeededGenerator(seed: seed)
    plain =
      mode.kind == .bus ? bus.event(for: Int.self) : Event("simulated", replaying: mode.replays ? .last(2) : .none)
    aside = try! bus.event(EventKey("aside"), of: bus)
    (value, keyed) = (mode.kind == .value ? Observed(-1) : nil, mode.kind == .objects ? KeyedEvent("simulated") : nil)
    let other: (any SimulatedEvent)? = if let value { value } else { keyed }
    event = other ?? plain
  }

  func tick() -> Int {
    time += 1
    return time
  }

  func fail(_ what: String) { if violation == nil { violation = Violation(description: what) } }

  func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  func pick<Choice>(_ choices: [Choice]) -> Choice { choices[below(choices.count)] }

  var places: [HandlerKind] {
    if mode.isPlain { return [.inline] }
    if mode.isModified { return [.inline] + HandlerKind.modified }
    return HandlerKind.plain + (mode.kind == .bus ? HandlerKind.forAll : [])
  }

  var holding: Buffering? { mode.holds ? .unbounded : nil }

  /// Runs the body of a call on the shared lane, where calls do not overlap.
  private func alone(_ number: Int, _ body: () async throws -> Void) async throws {
    if sharedRunning > 0 { fail("H8: a call of handler \(number) overlaps one on its lane") }
    sharedRunning += 1
    defer { sharedRunning -= 1 }
    try await body()
  }

  /// Runs the body of a call for a key, where calls of one key do not overlap.
  private func withKey(_ number: Int, _ send: Int, _ body: () async throws -> Void) async throws {
    if runningKeys[number, default: []].contains(send % 2) { fail("H7: calls for a key overlap") }
    runningKeys[number, default: []].append(send % 2)
    defer { runningKeys[number]?.removeAll { $0 == send % 2 } }
    try await body()
  }

  // MARK: Actions of tasks

  /// Adds a handler.
  ///
  /// The first handler is inline, is never removed, and is locked only with the whole event. So its
  /// calls show the order of the event.
  func add(_ place: HandlerKind, once: Bool = false, reaction: Reaction = .nothing, isOwned: Bool = false) {
    let number = handlers.count
    handlers.append(Suspect(number: number, place: place, isOnce: once, reaction: reaction, addCall: tick()))
    if number > 0, keyed != nil, below(3) > 0 { handlers[number].address = pick(addresses).number }
    handlers[number].hearsAnnouncements = number > 0 && value != nil && !once && below(2) == 0
    if isEventLocked { handlers[number].mutes.append((time, .max)) }
    let canary = Canary(live)
    var handler: Handler<Int> =
      switch place {
      case .inline: Handler { [self] send in try called(number, send, canary) }
      case .main: Handler(on: .main) { [self] send in try called(number, send, canary) }
      case .background: Handler(on: .background) { [self] send in try called(number, send, canary) }
      case .inOrder: Handler(on: .inOrder) { [self] send async throws in try await calledAsync(number, send, canary) }
      case .concurrent:
        Handler(on: .concurrent(limit: 2)) { [self] send async throws in try await calledAsync(number, send, canary) }
      case .task: Handler(on: .task) { [self] send async throws in try await calledAsync(number, send, canary) }
      case .shared:
        Handler(on: .lane(lane)) { [self] send async throws in
          try await alone(number) { try await calledAsync(number, send, canary) }
        }
      case .sharedBatched:
        Handler(on: .lane(lane)) {
          [self] batch async throws in
          try await alone(number) { try await calledWithBatch(number, batch, canary) }
        }.batched(of: 2, within: .milliseconds(1), clock: Simulation.clock)
      case .sharedRetried:
        Handler(.retrying(SimulatedWorld.policy, clock: Simulation.clock), on: .lane(lane)) {
          [self] send async throws in
          try await alone(number) { try await calledAsync(number, send, canary) }
        }
      case .sharedWide:
        Handler(on: .lane(wideLane)) { [self] send async throws in try await calledAsync(number, send, canary) }
      case .keyed:
        Handler(.inOrder { $0 % 2 }, on: .concurrent(limit: 2)) { [self] send async throws in
          try await withKey(number, send) { try await calledAsync(number, send, canary) }
        }
      case .retriedByKey:
        Handler(
          .inOrder { $0 % 2 }, .retrying(SimulatedWorld.policy, clock: Simulation.clock), on: .concurrent(limit: 2)
        ) { [self] send async throws in
          try await withKey(number, send) { try await calledAsync(number, send, canary) }
        }
      case .batchedByKey, .newestByKey:
        Handler(.buffering(place == .newestByKey ? .newest(1) : .unbounded), on: .concurrent(limit: 2)) {
          [self] batch async throws in
          if Set(batch.map { $0 % 2 }).count > 1 { fail("H7: a batch of handler \(number) has two keys") }
          try await withKey(number, batch[0]) { try await calledWithBatch(number, batch, canary) }
        }.batched(of: 2, within: .milliseconds(1), by: { $0 % 2 }, clock: Simulation.clock)
      case .isolatedRetried:
        Handler(.retrying(SimulatedWorld.policy, clock: Simulation.clock), isolatedTo: room) { [self] _, send in
          try await calledAsync(number, send, canary)
        }
      case .batched:
        Handler { [self] batch async throws in
          try await calledWithBatch(number, batch, canary)
        }.batched(of: 2, within: .milliseconds(1), clock: Simulation.clock)
      case .retried:
        Handler(
          .retrying(.exponential(from: .milliseconds(1), to: .milliseconds(2), attempts: 2), clock: Simulation.clock),
          on: .inOrder
        ) { [self] send async throws in try await calledAsync(number, send, canary) }
      case .debounced:
        Handler(.debounced(for: .milliseconds(1), clock: Simulation.clock), on: .inOrder) { [self] send async throws in
          try await calledAsync(number, send, canary)
        }
      case .throttled:
        Handler(.throttled(every: .milliseconds(1), clock: Simulation.clock), on: .inOrder) {
          [self] send async throws in try await calledAsync(number, send, canary)
        }
      case .debouncedOnMain:
        Handler(.debounced(for: .milliseconds(1), clock: Simulation.clock), on: .main) { [self] send in
          try called(number, send, canary)
        }
      case .throttledOnMain:
        Handler(.throttled(every: .milliseconds(1), clock: Simulation.clock), on: .main) { [self] send in
          try called(number, send, canary)
        }
      case .debouncedInBackground:
        Handler(.debounced(for: .milliseconds(1), clock: Simulation.clock), on: .background) { [self] send in
          try called(number, send, canary)
        }
      case .throttledInBackground:
        Handler(.throttled(every: .milliseconds(1), clock: Simulation.clock), on: .background) { [self] send in
          try called(number, send, canary)
        }
      case .newest, .oldest, .suspending:
        Handler(.buffering(place.bound), on: .inOrder) { [self] send async throws in
          try await calledAsync(number, send, canary)
        }
      case .distinct: Handler { [self] send in try called(number, send, canary) }
      case .distinctInBackground: Handler(on: .background) { [self] send in try called(number, send, canary) }
      // These add their handlers in another way.
      case .forAllOnQueue, .forAllInBackground, .forAllInOrder, .isolated:
        Handler(on: .inOrder) { [self] send async throws in try await calledAsync(number, send, canary) }
      }
    if once { handler = handler.with(.once) }
    if number == 0 { handler = handler.with(.priority(.max)) }
    handlers[number].token =
      if place.isForAll {
        addForAll(place, once: once, number, canary)
      } else if place == .isolated {
        source(number).addHandler(once ? .once : .options(), isolatedTo: room) { [self] _, send async throws in
          try await calledAsync(number, send, canary)
        }
      } else if isOwned, place == .inline {
        own(number) { owner in
          source(number).addHandler(once ? .once : .options(), owner: owner) { [self] _, send in
            try called(number, send, canary)
          }
        }
      } else if place.isDistinct {
        plain.removeDuplicates { $0 / 2 == $1 / 2 }.add(handler)
      } else {
        source(number).add(handler)
      }
    handlers[number].addReturn = tick()
  }

  private func own(_ number: Int, _ add: (Owner) -> HandlerToken) -> HandlerToken {
    let owner = Owner(live)
    owners[number] = owner
    return add(owner)
  }

  func remove(_ number: Int) {
    guard number > 0, let token = handlers[number].token, handlers[number].removeCall == nil else { return }
    handlers[number].removeCall = tick()
    if owners[number] != nil {
      owners[number] = nil
    } else if handlers[number].place.isForAll {
      bus.remove(token)
    } else {
      event.remove(token)
    }
    handlers[number].removeReturn = tick()
  }

  func toggleLock(_ number: Int) {
    guard number > 0, !handlers[number].place.isForAll, let token = handlers[number].token else { return }
    if handlers[number].isLocked {
      handlers[number].isLocked = false
      unmute(number)
      event.unlock(token)
    } else {
      handlers[number].wasLocked = true
      event.lock(token, holding: holding)
      mute(number)
      handlers[number].isLocked = true
    }
  }

  func toggleGate() {
    if isEventLocked {
      isEventLocked = false
      for number in handlers.indices { unmute(number) }
      event.unlock()
      aside.unlock()
    } else {
      event.lock(holding: holding)
      aside.lock(holding: holding)
      for number in handlers.indices { mute(number) }
      isEventLocked = true
    }
  }

  private func mute(_ number: Int) { if !isMute(number) { handlers[number].mutes.append((tick(), .max)) } }

  private func unmute(_ number: Int) {
    guard !isMute(number), let last = handlers[number].mutes.indices.last else { return }
    handlers[number].mutes[last].off = tick()
  }

  func isMute(_ number: Int) -> Bool { isEventLocked || handlers[number].isLocked }

  func begin(_ sender: Int) -> Int {
    sends.append(Send(sender: sender, call: tick()))
    if keyed != nil { sends[sends.count - 1].address = pick(addresses).number }
    if mode.kind == .bus, 0..<3 ~= sender { sends[sends.count - 1].isAside = below(3) == 0 }
    return sends.count - 1
  }

  func end(_ send: Int, _ report: SendReport?) {
    sends[send].end = tick()
    sends[send].report = report
  }

  /// Quiesces the event. No call with an earlier occurrence may run or begin afterwards.
  func quiesce() async {
    let (before, start) = (sends.count, time)
    await event.quiesce()
    if mode.kind == .bus { await aside.quiesce() }
    guard !mode.holds, !mode.replays else { return }
    for handler in handlers
    where handler.running > 0 && handler.calls.contains(where: { $0.send < before && $0.at > start }) {
      if let last = handler.calls.last, last.send < before, handler.place.isInOrder {
        fail("G7: handler \(handler.number) runs with \(last.send) after quiesce")
      }
    }
    settled = max(settled, before)
  }
  var settled = 0
}
