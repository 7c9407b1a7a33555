import Eventing
import Synchronization

/// A record of random operations that several threads perform on one event.
final class History: Sendable {
  private struct Shared: Sendable {
    var tokens: [(number: Int, token: HandlerToken)] = []
    var calls: [Operation] = []
    var handlers = 0
    var occurrences = 0
  }

  let seed: UInt64
  private let event = Event<Int>()
  /// The logical clock. Each reading, on any thread, returns the next number.
  private let clock = Atomic<Int>(0)
  /// The time at which the last inline call ended. Inline calls do not overlap, so
  /// `called(_:_:_:_:)` takes it as the earliest start of the next inline call.
  private let inline = Atomic<Int>(0)
  private let shared = ConditionLock(Shared())
  private let done: ConditionLock<[[Operation]]>

  private static let mostHandlers = 6
  private static let mostOccurrences = 10

  init(seed: UInt64, threads: Int) {
    self.seed = seed
    done = ConditionLock(Array(repeating: [], count: threads))
    var random = SeededGenerator(seed: seed)
    var first: [Operation] = []
    for _ in 0..<3 { add(thread: 0, &random) { first.append($0) } }
    done.withLock { [first] in $0[0] = first }
  }

  private var now: Int { clock.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue }

  /// Performs random operations. Each thread calls this method.
  func run(_ thread: Int, steps: Int) {
    var random = SeededGenerator(seed: seed &* 31 &+ UInt64(thread))
    var operations: [Operation] = []
    for _ in 0..<steps {
      stumble(&random)
      step(thread, &random) { operations.append($0) }
    }
    done.withLock { [operations] in $0[thread] += operations }
  }

  /// Yields or delays the thread at random.
  ///
  /// On two cores, without delays, an operation usually ends before the other thread begins one. A
  /// history without overlaps proves nothing.
  private func stumble(_ random: inout SeededGenerator) {
    switch random.next() % 8 {
    case 0: giveWay()
    case 1, 2, 3: for _ in 0..<random.next() % 500 { _ = clock.load(ordering: .relaxed) }
    default: break
    }
  }

  private func step(_ thread: Int, _ random: inout SeededGenerator, _ note: (Operation) -> Void) {
    switch random.next() % 16 {
    case 0, 1: add(thread: thread, &random, note)
    case 2:
      change(thread, &random, note) {
        .remove($0)
      } by: {
        event.remove($0)
      }
    case 3, 4:
      change(thread, &random, note) {
        .lock($0)
      } by: {
        event.lock($0)
      }
    case 5, 6:
      change(thread, &random, note) {
        .unlock($0)
      } by: {
        event.unlock($0)
      }
    case 7: gate(thread, random.next() % 2 == 0, note)
    case 8: send(thread, note)
    default: post(thread, note)
    }
  }

  // MARK: Operations

  private func add(thread: Int, _ random: inout SeededGenerator, _ note: (Operation) -> Void) {
    let number = shared.withLock { shared -> Int? in
      guard shared.handlers < History.mostHandlers else { return nil }
      defer { shared.handlers += 1 }
      return shared.handlers
    }
    guard let number else { return }
    let handler = Operation.Handler(number: number, isOnce: random.next() % 4 == 0, hasLane: random.next() % 4 == 0)
    let reaction = random.next() % 8
    let last = Atomic<Int>(0)
    let start = now
    let token =
      handler.isOnce
      ? event.once(on: handler.hasLane ? .background : .inline) { [weak self] in self?.called(handler, $0, reaction, 0)
      }
      : event.addHandler(on: handler.hasLane ? .background : .inline) { [weak self] in
        guard let self else { return }
        called(handler, $0, reaction, last.load(ordering: .acquiring))
        last.store(now, ordering: .releasing)
      }
    let end = now
    note(Operation(action: .place(handler.number), start: start, end: end, thread: thread))
    note(Operation(action: .add(handler), start: start, end: end, thread: thread))
    shared.withLock { $0.tokens.append((number, token)) }
  }

  private func change(
    _ thread: Int, _ random: inout SeededGenerator, _ note: (Operation) -> Void, _ action: (Int) -> Operation.Action,
    by change: (HandlerToken) -> Bool
  ) {
    let choice = Int(random.next() % 64)
    guard let chosen = shared.withLock({ $0.tokens.isEmpty ? nil : $0.tokens[choice % $0.tokens.count] }) else {
      return
    }
    let start = now
    let wasThere = change(chosen.token)
    let end = now
    note(Operation(action: action(chosen.number), wasThere: wasThere, start: start, end: end, thread: thread))
    // `lock` first locks, and then checks whether the handler is there. So a handler that ends
    // meanwhile may have been locked for a short time.
    if case .lock(let number) = action(chosen.number), !wasThere {
      note(Operation(action: .lock(number), start: start, end: end, thread: thread))
    }
  }

  private func gate(_ thread: Int, _ isEventLocked: Bool, _ note: (Operation) -> Void) {
    let start = now
    if isEventLocked { event.lock() } else { event.unlock() }
    let end = now
    let part = Operation.GatePart(change: start, count: History.mostHandlers)
    for number in 0..<History.mostHandlers {
      note(Operation(action: .gate(number, isEventLocked, part: part), start: start, end: end, thread: thread))
    }
  }

  private func nextOccurrence() -> Int? {
    shared.withLock { shared in
      guard shared.occurrences < History.mostOccurrences else { return nil }
      defer { shared.occurrences += 1 }
      return shared.occurrences
    }
  }

  private func post(_ thread: Int, _ note: (Operation) -> Void) {
    guard let occurrence = nextOccurrence() else { return }
    let start = now
    event.post(occurrence | start << 8)
    note(Operation(action: .post(occurrence), start: start, end: now, thread: thread))
  }

  private func send(_ thread: Int, _ note: (Operation) -> Void) {
    guard let occurrence = nextOccurrence() else { return }
    let (report, returned) = (ConditionLock<SendReport?>(nil), Gate())
    let start = now
    let ticket = event.submit(occurrence | start << 8)
    let submitted = now
    note(Operation(action: .post(occurrence), start: start, end: submitted, thread: thread))
    Task {
      let value = await ticket.report
      report.withLock { $0 = value }
      returned.open()
    }
    returned.wait()
    guard let report = report.withLock({ $0 }) else { return }
    let action = Operation.Action.report(occurrence: occurrence, delivered: report.delivered, skipped: report.skipped)
    note(Operation(action: action, start: submitted, end: now, thread: thread))
  }

  private func called(_ handler: Operation.Handler, _ payload: Int, _ reaction: UInt64, _ last: Int) {
    let (occurrence, posted) = (payload & 0xFF, payload >> 8)
    // The claim of an inline call comes after the end of the previous inline call. The claim of a
    // call on a lane comes after the end of the previous call on that lane.
    let start = max(posted, handler.hasLane ? last : inline.load(ordering: .acquiring))
    let call = Operation(action: .call(occurrence: occurrence, handler: handler.number), start: start, end: now)
    shared.withLock { $0.calls.append(call) }
    var random = SeededGenerator(seed: seed &+ UInt64(occurrence * 64 + handler.number))
    stumble(&random)
    let note = { (operation: Operation) in self.shared.withLock { $0.calls.append(operation) } }
    switch reaction {
    case 0: post(-1, note)
    case 1:
      change(-1, &random, note) {
        .remove($0)
      } by: {
        event.remove($0)
      }
    case 2:
      change(-1, &random, note) {
        .lock($0)
      } by: {
        event.lock($0)
      }
    case 3: add(thread: -1, &random, note)
    default: break
    }
    if !handler.hasLane { inline.store(now, ordering: .releasing) }
  }

  // MARK: The end

  /// Waits until all occurrences have been delivered, also the ones that handlers posted. Returns
  /// all operations, including calls.
  func finish() -> [Operation] {
    let isQuiet = Gate()
    Task {
      var occurrences = -1
      while occurrences != shared.withLock(\.occurrences) {
        occurrences = shared.withLock(\.occurrences)
        await event.quiesce()  // a call may have counted an occurrence that it has not posted yet
        await event.quiesce()
      }
      isQuiet.open()
    }
    isQuiet.wait()
    return done.withLock { $0.flatMap(\.self) } + shared.withLock { $0.calls }
  }
}
