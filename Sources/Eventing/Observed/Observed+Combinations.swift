/// The part of a ``Combination`` that each of its observed values uses. The value knows its own
/// type only, and not those of the other values.
protocol ValueCombination: AnyObject, Sendable {
  /// The combined values, as the `ObjectIdentifier` of the storage of each, in the order in which
  /// the values are combined. A combination is found by them.
  var key: [ObjectIdentifier] { get }

  /// Enqueues the changes that the setters of the values have pushed onto the combination's stack,
  /// and delivers them as a post does.
  ///
  /// - Returns: Whether the caller must slow down; see ``OverloadControl``.
  func collect() -> Bool
  /// The core of the event.
  var core: EventCore { get }

  /// Counts a use. The caller holds `core.mutex` of the first value.
  func use()
  /// Ends a use. The caller holds `core.mutex` of the first value.
  ///
  /// - Returns: Whether that was the last use.
  func endUse() -> Bool
  /// Ends a use. After the last one, removes the combination from its values.
  func drop()
  /// Ends the event, and removes the combination from its values, because one of them ends.
  func end()
}

/// The membership of an observed value in one combination: an entry in the list `memberships` of
/// the value.
struct CombinationMembership<Value: Sendable>: Sendable {
  let combination: any ValueCombination
  /// Pushes the new value of the observed value, and the completion of its setter, onto the
  /// combination's stack of changes. The caller holds `core.mutex` of the observed value.
  let push: @Sendable (Value, Completion?) -> Void
}

/// A value that may be part of combinations, whatever its type.
protocol CombinedValue: AnyObject, Sendable {
  /// The combinations of the value.
  var combinations: [any ValueCombination] { get }
  /// The event of its changes.
  var anyEvent: any AnyEvent { get }
}

extension Observed.Storage: CombinedValue {
  var anyEvent: any AnyEvent { event }
}

// The combinations that a value is part of; the mutex of the value guards their list. A combination
// is found through its first value, whose mutex also guards the number of uses.
extension Observed.Storage {
  /// Returns the combination that has a given `key`; `nil` if there is none. This value must be the
  /// first one of the key.
  ///
  /// - Parameter isUsed: Whether to add 1 to the number of uses of the combination.
  func combination(of key: [ObjectIdentifier], isUsed: Bool) -> (any ValueCombination)? {
    core.mutex.withLock {
      let found = unsafe memberships.first { $0.combination.key == key }?.combination
      if isUsed { found?.use() }
      return found
    }
  }

  /// Adds this observed value to the combination of `membership`, and gives the combination the
  /// current value. Does neither if the value is part of the combination already.
  ///
  /// Equal combinations, of the same values in the same order, have an equal `key`. Two threads may
  /// make equal combinations at once. The first value of the combinations decides which one both
  /// threads use: the one that was added to the value first.
  ///
  /// - Parameter isFirst: Whether this value is the first of the combination. If so, a use of the
  ///   returned combination begins.
  /// - Returns: The combination of `membership`. If this value is the first, and was already added
  ///   to a combination with an equal `key`, that combination.
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

  /// Ends a use of a combination whose first value is this one. After the last use, removes the
  /// combination from this value.
  ///
  /// - Returns: Whether the combination was removed.
  func drop(_ combination: any ValueCombination) -> Bool {
    let replaced = core.mutex.withLock { combination.endUse() ? take(combination) : nil }
    return replaced != nil
  }

  /// Removes a combination from this value.
  func forget(_ combination: any ValueCombination) {
    withExtendedLifetime(core.mutex.withLock { take(combination) }) {}
  }

  /// Removes a combination. The caller holds `core.mutex`.
  ///
  /// - Returns: The memberships before the removal, which the caller releases after the unlock.
  private func take(_ combination: any ValueCombination) -> [CombinationMembership<Value>] {
    let before = unsafe memberships
    unsafe memberships = before.filter { $0.combination !== combination }
    return before
  }

  /// The combinations of the value.
  var combinations: [any ValueCombination] {
    core.mutex.withLock { unsafe memberships }.map(\.combination)
  }

  /// Pushes a new value onto the stack of each combination. The caller holds `core.mutex`.
  ///
  /// - Returns: The memberships, for ``collect(_:)`` after the unlock.
  func push(_ new: Value, _ completion: Completion?) -> [CombinationMembership<Value>] {
    let memberships = unsafe memberships
    for membership in memberships { membership.push(new, completion?.forFurtherOccurrence) }
    return memberships
  }

  /// Enqueues and delivers the values that were pushed to the combinations.
  ///
  /// - Returns: Whether the caller must slow down.
  func collect(_ memberships: [CombinationMembership<Value>]) -> Bool {
    var mustSlowDown = false
    for membership in memberships where membership.combination.collect() { mustSlowDown = true }
    return mustSlowDown
  }
}
