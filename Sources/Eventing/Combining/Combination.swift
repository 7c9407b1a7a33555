import Synchronization

/// `third` is always `nil` in a pair; the others are `nil` until their value has been added.
struct LatestValues<First: Sendable, Second: Sendable, Third: Sendable>: Sendable {
  var first: First?
  var second: Second?
  var third: Third?
}

extension LatestValues: PayloadEnvelope, ChangePayload {
  static var contents: Any.Type { Third.self == Void.self ? (First, Second).self : (First, Second, Third).self }
}

/// Each set of a value pushes its change onto one stack, in the critical section in which the value
/// changes. The pushes thus order all sets, and no thread holds two mutexes. In a critical section
/// of the combination's event, the thread then takes all changes off the stack and enqueues the
/// result of each.
///
/// When a value is added, it pushes its current value, too. Handlers are added after all values.
/// The combination lives until the last ``CombinationUse`` is released or one of the values ends.
final class Combination<First: Sendable, Second: Sendable, Third: Sendable>: ValueCombination {
  typealias Values = LatestValues<First, Second, Third>

  let event = Event<Values>(replaying: .current(Values()))
  let key: [ObjectIdentifier]
  private let changes = AtomicStack<CombinedChange<Values>>()
  private let uses = Atomic<Int>(0)
  private weak let first: Observed<First>.Storage?
  private weak let second: Observed<Second>.Storage?
  private weak let third: Observed<Third>.Storage?

  init(
    _ first: Observed<First>.Storage, _ second: Observed<Second>.Storage, _ third: Observed<Third>.Storage?,
    _ key: [ObjectIdentifier]
  ) {
    self.first = first
    self.second = second
    self.third = third
    self.key = key
    _ = event.core.anchor.failures().visible.set(first.event.core.anchor)
  }

  // MARK: Beginning

  var firstMembership: CombinationMembership<First> {
    let (isSecond, isThird) = (key[1] == key[0], key.count > 2 && key[2] == key[0])
    return membership { value, values in
      values.first = value
      if isSecond { values.second = value as? Second }
      if isThird { values.third = value as? Third }
    }
  }

  /// A value that has been enlisted before, as another one of the key, stays as it is.
  func enlistOthers(_ second: Observed<Second>.Storage, _ third: Observed<Third>.Storage?) {
    let isThird = key.count > 2 && key[2] == key[1]
    _ = second.enlist(
      membership { value, values in
        values.second = value
        if isThird { values.third = value as? Third }
      }, isFirst: false)
    if let third { _ = third.enlist(membership { value, values in values.third = value }, isFirst: false) }
  }

  private func membership<Value: Sendable>(
    _ set: @escaping @Sendable (Value, inout Values) -> Void
  ) -> CombinationMembership<Value> {
    CombinationMembership(combination: self) { value, completion in
      self.changes.push(CombinedChange(thread: Thread.current, completion: completion) { set(value, &$0) })
    }
  }

  // MARK: Changes

  func collect() -> Bool {
    // Another thread has taken the changes and will enqueue them before it unlocks the event's
    // mutex, so they come before everything that this thread enqueues next.
    if changes.isEmpty { return false }
    // `taken` to `replaced` keep values that are replaced under the mutex, so that none is
    // destroyed there.
    var taken: [CombinedChange<Values>] = []
    var values = Values()
    var before: OwnedPayload?
    var replaced: OwnedPayload?
    let mustSlowDown = event.core.enqueue { rareState in
      taken = changes.takeAll()
      guard !taken.isEmpty, let history = rareState.history else { return false }
      before = history.copyOfLatest()
      if let latest = before?.borrowed { values = latest.payload(Values.self) }
      for change in taken {
        change.apply(&values)
        lend(values) { unsafe rareState.mailbox.append($0, change.completion, by: change.thread) }
      }
      lend(values) { replaced = history.replaceLatest($0) }
      return rareState.isOverloaded
    }
    _ = consume before
    _ = consume replaced
    return mustSlowDown
  }

  var core: EventCore { event.core }

  // MARK: Ending

  func use() { uses.wrappingAdd(1, ordering: .relaxed) }
  func endUse() -> Bool { uses.wrappingSubtract(1, ordering: .relaxed).newValue == 0 }

  func drop() {
    guard let first, first.drop(self) else { return }
    second?.forget(self)
    third?.forget(self)
  }

  func end() {
    event.finish()
    first?.forget(self)
    second?.forget(self)
    third?.forget(self)
  }
}

struct CombinedChange<Values: Sendable>: Sendable {
  let thread: UInt
  let completion: Completion?
  let apply: @Sendable (inout Values) -> Void
}

/// Retained by handlers' closures. The last use ends the combination.
final class CombinationUse: Sendable {
  private weak let combination: (any ValueCombination)?

  init(_ combination: any ValueCombination) { self.combination = combination }
  deinit { combination?.drop() }
}
