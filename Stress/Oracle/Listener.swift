import Eventing
import Synchronization

/// A value for an `Observed`. Its name has the sender, and the number of this value among all
/// values of the sender. `basis` is the name of the value from which this value was computed.
struct Tone: Sendable {
  struct Name: Hashable, Sendable {
    var senderLog: Int32
    var index: Int32
  }

  let name: Name
  /// The name of the value that an `update` started from. Nil if the value was set.
  let basis: Name?
  let canary: Canary
}

/// The calls that a handler of changes asks for besides the changes.
struct Wishes: OptionSet, Sendable {
  let rawValue: UInt8
  static var initial: Wishes { Wishes(rawValue: 1) }
  static var prior: Wishes { Wishes(rawValue: 2) }
}

/// The oracle's record of one handler of changes. The record has names in place of values, so that
/// it retains no value.
// Safe: one call at a time writes `calls`, as `inside` checks. The worker of the handler writes all
// other fields. The verifier reads when all calls have ended.
final class Listener: @unchecked Sendable, CustomStringConvertible {
  struct Call: Sendable {
    let old: Tone.Name?
    let new: Tone.Name
    let basis: Tone.Name?
    let isPrior: Bool
    let at: UInt64
  }

  static let places = [HandlerPlace.inline, .inline, .background, .main, .mainAsync, .inOrder]

  let place: HandlerPlace
  let options: Wishes
  private let checks: Checks
  private(set) var token: HandlerToken?
  private(set) var adding = Span.open
  var removing: Span?
  private(set) var calls: [Call] = []
  /// The seed of the random numbers that decide which calls meet a fault. It derives from the seed
  /// of the run.
  var fate: UInt64 = 0
  /// A closure that each call runs when the call has been recorded.
  var reaction: (@Sendable (ValueChange<Tone>) -> Void)?
  /// The number of calls that are running.
  private let inside = Atomic<Int>(0)

  init(_ place: HandlerPlace, _ options: Wishes, _ checks: Checks) {
    self.place = place
    self.options = options
    self.checks = checks
  }

  var description: String {
    let names: [(Wishes, String)] = [(.initial, "initial"), (.prior, "prior")]
    return
      "handler \(token?.id ?? 0) (\(place), \(names.filter { options.contains($0.0) }.map(\.1).joined(separator: " ")))"
  }

  func add(to value: Observed<Tone>) {
    let canary = Canary(.handler)
    adding = .open
    let source = value.changes(initial: options.contains(.initial), prior: options.contains(.prior))
    switch place {
    case .background: token = source.addHandler(on: .background) { self.call($0, canary) }
    case .main: token = source.addHandler(on: .main) { self.call($0, canary) }
    case .mainAsync:
      token = source.addHandler(on: .main) { change in
        self.checks.faults.count(.preempt)
        await Task.yield()
        self.call(change, canary)
      }
    case .inOrder:
      token = source.addHandler { change in
        if change.new.name.index.isMultiple(of: 3) {
          self.checks.faults.count(.preempt)
          await Task.yield()
        }
        self.call(change, canary)
      }
    default: token = source.addHandler { self.call($0, canary) }
    }
    adding.finish()
  }

  private func call(_ change: ValueChange<Tone>, _ canary: Canary) {
    let call = Call(
      old: change.old?.name, new: change.new.name, basis: change.new.basis, isPrior: change.isPrior, at: Clock.now)
    let others = inside.wrappingAdd(1, ordering: .relaxed).oldValue
    let isMine = canary.isAlive && change.old?.canary.isAlive ?? true && change.new.canary.isAlive
    if !isMine { checks.violate(.g22, "\(self) uses a released object") }
    guard others == 0 else { return checks.violate(.g13, "\(self) was called while another call of it was running") }
    calls.append(call)
    reaction?(change)
    var luck = Random(seed: fate &+ UInt64(calls.count))
    checks.faults.delay(&luck)
    inside.wrappingSubtract(1, ordering: .relaxed)
  }
}
