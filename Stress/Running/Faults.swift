/// A misfortune that workers and handlers meet. It is survived if everything held afterwards.
enum Fault: String, CaseIterable, Sendable {
  case `throw`, cancel, stall, preempt, reenter, drop

  /// What `--list` says, in one line.
  var summary: String {
    switch self {
    case .throw: "a handler throws: it was called, and the report has its failure"
    case .cancel: "a task is cancelled that awaits a send, a look or a quiet event, or that runs a loop"
    case .stall: "a handler spins or sleeps for a moment, so that lanes and posters wait"
    case .preempt: "a worker gives its core away between operations, a handler in the middle of a call"
    case .reenter: "a handler posts to its own event, or adds, locks and removes a handler there"
    case .drop: "an owner, a ticket, or the last reference to an event is let go in the middle of things"
    }
  }

  /// One in so many, if the command line says nothing: seldom enough to cost next to nothing.
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

/// How often each kind of fault is injected.
struct FaultRates: Sendable {
  /// What a rate may be: once in so many chances.
  static let range = 1...1_000_000_000

  /// One in so many, for each kind; 0 for never.
  private var rates: [Int]

  static let none = FaultRates(rates: Fault.allCases.map { _ in 0 })
  static let usual = FaultRates(rates: Fault.allCases.map(\.usualRate))

  subscript(kind: Fault) -> Int {
    get { rates[kind.index] }
    set { rates[kind.index] = newValue }
  }

  /// As `--faults` takes it.
  var text: String {
    let words = Fault.allCases.filter { self[$0] > 0 }.map { "\($0):\(self[$0])" }
    return words.isEmpty ? "none" : words.joined(separator: ",")
  }
}

/// Says who meets which fault, and counts them, those included that a scenario is made of.
///
/// It is drawn from the random numbers of whoever asks. So it depends on the seed alone, and what workers do does not depend on it.
final class Faults: Sendable {
  private let rates: FaultRates
  private let counts = Fault.allCases.map { _ in Counter() }

  init(_ rates: FaultRates) { self.rates = rates }

  /// Whether it is time for one.
  func isDue(_ kind: Fault, _ luck: inout Random) -> Bool {
    let rate = rates[kind]
    return rate > 0 && luck.oneIn(rate)
  }

  /// The same, for one that happens now: it is counted.
  func strikes(_ kind: Fault, _ luck: inout Random) -> Bool {
    guard isDue(kind, &luck) else { return false }
    count(kind)
    return true
  }

  func count(_ kind: Fault, _ number: Int = 1) { counts[kind.index].add(number) }
  func count(of kind: Fault) -> Int { counts[kind.index].value }
  var total: Int { counts.reduce(0) { $0 + $1.value } }

  // MARK: In handlers

  /// What a handler throws.
  struct Problem: Error {}

  /// Holds a handler up: it stalls, or gives its core away.
  func delay(_ luck: inout Random) {
    if strikes(.stall, &luck) { Faults.stall(&luck) }
    if strikes(.preempt, &luck) { RawThread.giveWay() }
  }

  /// The same for an asynchronous one, which leaves the thread to others.
  ///
  /// It says its isolation, as an optimized build of Swift 6.3.1 otherwise leaves the main actor
  /// behind where a path with an await and a path without one meet.
  ///
  /// - Parameters:
  ///   - isSuspended: whether it suspends in any case.
  ///   - place: the actor of the caller, on which it returns.
  func delayTask(_ luck: inout Random, isSuspended: Bool, on place: isolated (any Actor)? = #isolation) async {
    if strikes(.stall, &luck) { await Faults.stallTask(&luck) }
    guard isDue(.preempt, &luck) || isSuspended else { return }
    count(.preempt)
    await Task.yield()
  }

  /// Makes a handler fail.
  func fail(_ luck: inout Random) throws {
    if strikes(.throw, &luck) { throw Problem() }
  }

  /// What a handler meets that has no handlerLog, last thing in its call: whose fate it is, and the call's number.
  func meet(_ fate: UInt64, _ number: Int) throws {
    var luck = Random(seed: fate &+ UInt64(truncatingIfNeeded: number))
    delay(&luck)
    try fail(&luck)
  }

  /// Keeps a thread busy, or asleep, for up to 100 microseconds or so.
  private static func stall(_ luck: inout Random) {
    if luck.oneIn(2) { RawThread.spin(UInt64(luck.below(50_000))) } else { RawThread.nap() }
  }

  /// The same for a task, which leaves the thread to others when it sleeps.
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
