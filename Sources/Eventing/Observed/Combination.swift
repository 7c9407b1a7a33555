import Synchronization

/// The latest value of each observed value in a combination; `nil` for an observed value that has
/// not been added to the combination yet. In a combination of two values, `third` is always `nil`.
struct LatestValues<First: Sendable, Second: Sendable, Third: Sendable>: Sendable {
  var first: First?
  var second: Second?
  var third: Third?
}

extension LatestValues: PayloadEnvelope, ChangePayload {
  static var contents: Any.Type { Third.self == Void.self ? (First, Second).self : (First, Second, Third).self }
}

/// The event of several ``Observed`` values together, and the changes on their way to it.
///
/// Each set of a value pushes its change onto one stack, in the critical section in which the value
/// changes. So the pushes give all sets one order, and no thread holds two mutexes. Then, in a
/// critical section of the combination's event, the thread takes all changes off the stack, applies
/// them one by one to the latest values, and enqueues the result of each.
///
/// A value that is added to the combination pushes its current value onto the stack, too. Handlers
/// are added only after all values have been added.
///
/// The values retain the combination until the last ``CombinationUse`` is released, or until one of
/// the values ends.
final class Combination<First: Sendable, Second: Sendable, Third: Sendable>: ValueCombination {
  typealias Values = LatestValues<First, Second, Third>

  /// The event. Its history is the latest values: those of the last change that was enqueued.
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
  }

  // MARK: Beginning

  /// The entry for this combination in the list `memberships` of the first value. If the user
  /// combines a value with itself, one change of the value sets, in one step, all fields of
  /// ``LatestValues`` that stand for the value.
  var firstMembership: CombinationMembership<First> {
    let (isSecond, isThird) = (key[1] == key[0], key.count > 2 && key[2] == key[0])
    return membership { value, values in
      values.first = value
      if isSecond { values.second = value as? Second }
      if isThird { values.third = value as? Third }
    }
  }

  /// Adds the second and third value to the combination, unless they are part of it already.
  func enlistOthers(_ second: Observed<Second>.Storage, _ third: Observed<Third>.Storage?) {
    if key[1] != key[0] {
      let isThird = key.count > 2 && key[2] == key[1]
      _ = second.enlist(
        membership { value, values in
          values.second = value
          if isThird { values.third = value as? Third }
        }, isFirst: false)
    }
    if let third, key[2] != key[0], key[2] != key[1] {
      _ = third.enlist(membership { value, values in values.third = value }, isFirst: false)
    }
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
    // If the stack `changes` is empty, another thread has taken the changes off it. That thread
    // enqueues them before it unlocks the event's mutex. So they come before everything that this
    // thread enqueues next.
    if changes.isEmpty { return false }
    // The four variables from `taken` to `replaced` keep each value that is replaced under the
    // event's mutex, and release it after the unlock. So no value is destroyed under the mutex.
    var taken: [CombinedChange<Values>] = []
    var values = Values()
    var before: OwnedPayload?
    var replaced: OwnedPayload?
    let mustSlowDown = event.core.enqueue { pendingWork in
      taken = changes.takeAll()
      guard !taken.isEmpty, let history = pendingWork.history else { return false }
      before = history.copyOfLatest()
      if let latest = before?.borrowed { values = latest.payload(Values.self) }
      for change in taken {
        change.apply(&values)
        lend(values) { unsafe pendingWork.mailbox.append($0, change.completion, by: change.thread) }
      }
      lend(values) { replaced = history.replaceLatest($0) }
      return pendingWork.isOverloaded
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

/// One change of one value of a combination.
struct CombinedChange<Values: Sendable>: Sendable {
  /// The thread that set the value.
  let thread: UInt
  /// The completion that carries the task-local values of the setter; `nil` if none are carried.
  let completion: Completion?
  /// Puts the new value in the place of the old one.
  let apply: @Sendable (inout Values) -> Void
}

/// The use of a combination by handlers that were added together. It is released with the closures
/// of these handlers. The release of the last use ends the combination.
final class CombinationUse: Sendable {
  private weak let combination: (any ValueCombination)?

  init(_ combination: any ValueCombination) { self.combination = combination }
  deinit { combination?.drop() }
}
