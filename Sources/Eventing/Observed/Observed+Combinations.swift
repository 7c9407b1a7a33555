protocol ValueCombination: AnyObject, Sendable {
  var key: [ObjectIdentifier] { get }

  func collect() -> Bool
  var core: EventCore { get }

  // The callers of `use()` and `endUse()` hold `core.mutex` of the first value.
  func use()
  func endUse() -> Bool
  func drop()
  func end()
}

struct CombinationMembership<Value: Sendable>: Sendable {
  let combination: any ValueCombination
  /// The caller holds `core.mutex` of the value.
  let push: @Sendable (Value, Completion?) -> Void
}

protocol CombinedValue: AnyObject, Sendable {
  var combinations: [any ValueCombination] { get }
  var anyEvent: any AnyEvent { get }
}

extension Observed.Storage: CombinedValue {
  var anyEvent: any AnyEvent { event }
}

// The combinations of which a value is part. The mutex of the value guards their list. A
// combination is found through its first value, whose mutex also guards the number of uses.
extension Observed.Storage {
  func combination(of key: [ObjectIdentifier], isUsed: Bool) -> (any ValueCombination)? {
    core.mutex.withLock {
      let found = unsafe memberships.first { $0.combination.key == key }?.combination
      if isUsed { found?.use() }
      return found
    }
  }

  /// Two threads may create combinations with the same `key` at once. The first value of the key
  /// decides: both use the one that was added to it first. That one is returned, and its use
  /// begins.
  func enlist(_ membership: CombinationMembership<Value>, isFirst: Bool) -> any ValueCombination {
    core.mutex.withLock {
      let made = membership.combination
      let found = unsafe memberships.first { isFirst ? $0.combination.key == made.key : $0.combination === made }
      let combination = found?.combination ?? made
      if isFirst { combination.use() }
      if found == nil {
        unsafe memberships = unsafe memberships + [membership]
        unsafe membership.push(box.current, nil)
      }
      return combination
    }
  }

  func drop(_ combination: any ValueCombination) -> Bool {
    let replaced = core.mutex.withLock { combination.endUse() ? take(combination) : nil }
    return replaced != nil
  }

  func forget(_ combination: any ValueCombination) {
    withExtendedLifetime(core.mutex.withLock { take(combination) }) {}
  }

  /// The caller holds `core.mutex` and releases the returned memberships after unlocking.
  private func take(_ combination: any ValueCombination) -> [CombinationMembership<Value>] {
    let before = unsafe memberships
    unsafe memberships = before.filter { $0.combination !== combination }
    return before
  }

  var combinations: [any ValueCombination] {
    core.mutex.withLock { unsafe memberships }.map(\.combination)
  }

  /// The caller holds `core.mutex` and calls ``collect(_:)`` after unlocking.
  func push(_ new: Value, _ completion: Completion?) -> [CombinationMembership<Value>] {
    let memberships = unsafe memberships
    for membership in memberships { membership.push(new, completion?.forFurtherOccurrence) }
    return memberships
  }

  func collect(_ memberships: [CombinationMembership<Value>]) -> Bool {
    var mustSlowDown = false
    for membership in memberships where membership.combination.collect() { mustSlowDown = true }
    return mustSlowDown
  }
}
