/// A fault that is injected into workers and handlers. Every check must hold nevertheless.
enum Fault: String, CaseIterable, Sendable {
  case `throw`, cancel, stall, preempt, reenter, drop

  /// The description that `--list` prints, in one line.
  var summary: String {
    switch self {
    case .throw: "a handler throws: the call counts, and the report contains the failure"
    case .cancel: "a task is cancelled while it awaits a send, an isolated call or quiesce, or iterates over a sequence"
    case .stall: "a handler spins or sleeps for a short time, so that lanes and posters wait"
    case .preempt: "a worker yields its core between two operations, or a handler in the middle of a call"
    case .reenter: "a handler posts to its own event, or adds, locks and removes a handler there"
    case .drop: "an owner, a ticket, or the last reference to an event is released while other operations run"
    }
  }

  /// The default rate: on average, one in this many calls of ``Faults/isDue(_:_:)`` returns true.
  /// The faults are so rare that the throughput hardly changes.
  var usualRate: Int {
    switch self {
    case .throw: 1_000
    case .cancel: 20
    case .stall: 20_000
    case .preempt: 1_000
    case .reenter: 1_000
    case .drop: 500
    }
  }
}

/// The rates of all kinds of faults. A worker or a handler asks ``Faults/isDue(_:_:)`` whether a
/// fault of a kind is due. The rate of the kind decides how often the answer is true.
struct FaultRates: Sendable {
  /// The rates that `--faults` accepts.
  static let range = 1...1_000_000_000

  /// The rate of each kind: on average, one in this many calls of ``Faults/isDue(_:_:)`` returns
  /// true. If the rate is 0, no call does.
  private var rates: [Int]

  static let none = FaultRates(rates: Fault.allCases.map { _ in 0 })
  static let usual = FaultRates(rates: Fault.allCases.map(\.usualRate))

  subscript(kind: Fault) -> Int {
    get { rates[kind.index] }
    set { rates[kind.index] = newValue }
  }

  /// The rates, in the syntax of `--faults`.
  var text: String {
    let words = Fault.allCases.filter { self[$0] > 0 }.map { "\($0):\(self[$0])" }
    return words.isEmpty ? "none" : words.joined(separator: ",")
  }
}

/// Decides when a fault is injected. Counts all faults, including the ones that a scenario makes by
/// itself.
///
/// Each decision uses random numbers that the caller keeps for faults. So the faults depend on the
/// seed alone, and the operations of the workers do not depend on the faults.
final class Faults: Sendable {
  private let rates: FaultRates
  private let counts = Fault.allCases.map { _ in Counter() }

  init(_ rates: FaultRates) { self.rates = rates }

  /// Returns whether a fault of this kind is due. Does not count the fault.
  func isDue(_ kind: Fault, _ luck: inout Random) -> Bool {
    let rate = rates[kind]
    return rate > 0 && luck.oneIn(rate)
  }

  /// Returns whether a fault of this kind is due. If so, counts the fault.
  func strikes(_ kind: Fault, _ luck: inout Random) -> Bool {
    guard isDue(kind, &luck) else { return false }
    count(kind)
    return true
  }

  func count(_ kind: Fault, _ number: Int = 1) { counts[kind.index].add(number) }
  func count(of kind: Fault) -> Int { counts[kind.index].value }
  var total: Int { counts.reduce(0) { $0 + $1.value } }

  // MARK: In handlers

  /// The error that handlers throw.
  struct Problem: Error {}

  /// Delays the thread of a synchronous handler. If the fault `stall` is due, stalls the thread. If
  /// the fault `preempt` is due, yields the processor to another thread.
  func delay(_ luck: inout Random) {
    if strikes(.stall, &luck) { Faults.stall(&luck) }
    if strikes(.preempt, &luck) { RawThread.giveWay() }
  }

  /// Delays the task of an asynchronous handler. If the fault `stall` is due, stalls the task. If
  /// the fault `preempt` is due, lets the task yield.
  ///
  /// The isolation is a parameter because of a compiler fault. Without the parameter, code that
  /// Swift 6.3.1 has optimized is no longer on the main actor where a path with an await joins a
  /// path without one.
  ///
  /// - Parameters:
  ///   - isSuspended: Whether the handler suspends even if no fault is due.
  ///   - place: The actor of the caller. The function returns on it.
  func delayTask(_ luck: inout Random, isSuspended: Bool, on place: isolated (any Actor)? = #isolation) async {
    if strikes(.stall, &luck) { await Faults.stallTask(&luck) }
    guard isDue(.preempt, &luck) || isSuspended else { return }
    count(.preempt)
    await Task.yield()
  }

  /// Throws a ``Problem`` if the fault `throw` is due. A handler calls this method.
  func fail(_ luck: inout Random) throws {
    if strikes(.throw, &luck) { throw Problem() }
  }

  /// Injects faults at the end of a call of a handler without a ``HandlerLog``.
  ///
  /// - Parameters:
  ///   - fate: The seed of the handler's faults.
  ///   - number: The number of the call.
  /// - Throws: A ``Problem`` if the fault `throw` is due.
  func meet(_ fate: UInt64, _ number: Int) throws {
    var luck = Random(seed: fate &+ UInt64(truncatingIfNeeded: number))
    delay(&luck)
    try fail(&luck)
  }

  /// Stalls a thread: spins for up to 50 µs, or sleeps (``RawThread/nap()``).
  private static func stall(_ luck: inout Random) {
    if luck.oneIn(2) { RawThread.spin(UInt64(luck.below(50_000))) } else { RawThread.nap() }
  }

  /// Stalls a task: spins for up to 50 µs, or sleeps for at least 50 µs, which frees the thread.
  private static func stallTask(_ luck: inout Random, on place: isolated (any Actor)? = #isolation) async {
    if luck.oneIn(2) {
      RawThread.spin(UInt64(luck.below(50_000)))
    } else {
      try? await Task.sleep(for: .microseconds(50))
    }
  }
}

extension Fault {
  fileprivate var index: Int {
    switch self {
    case .throw: 0
    case .cancel: 1
    case .stall: 2
    case .preempt: 3
    case .reenter: 4
    case .drop: 5
    }
  }
}
