extension Observed {
  /// Handlers receive changes in the order in which the value took them. If the event is idle, the
  /// value changes before the delivery; otherwise, it changes in the critical section that enqueues
  /// the change.
  // Safe: each field says what guards it.
  @usableFromInline final class Storage: @unchecked Sendable {
    @usableFromInline let event: Event<ValueChange<Value>>
    @usableFromInline let core: EventCore
    @usableFromInline let rareState: RareState
    @usableFromInline let box: ObservedValue<Value>
    // Guarded by: core.mutex.
    @usableFromInline @exclusivity(unchecked) var version: UInt64 = 0
    /// Threads that are repeating an `update`, with the expected `version`. Guarded by: core.mutex.
    @exclusivity(unchecked) private var computing: [(thread: UInt, version: UInt64)] = [] {
      didSet { choosePath() }
    }
    /// Never modified in place, because threads read the array after unlocking.
    /// Guarded by: core.mutex.
    @exclusivity(unchecked) var memberships: [CombinationMembership<Value>] = [] { didSet { choosePath() } }
    /// `nil` before a tracked read. Guarded by: core.mutex.
    @exclusivity(unchecked) var trackedReads: TrackedReads?

    init(_ value: Value, _ name: String?, _ policy: FailurePolicy) {
      event = Event<ValueChange<Value>>(name, onFailure: policy)
      core = event.core
      rareState = core.rareState
      box = ObservedValue(value)
      // The event may outlive this object and still give the value to new handlers.
      unsafe rareState.replayValue.makeCurrent = { [box] in
        OwnedPayload(ValueChange<Value>(old: nil, new: unsafe box.current))
      }
      // The replay value follows the delivered changes, not `current`. A change that is still
      // enqueued reaches a new handler as a change.
      unsafe rareState.replayValue.value = OwnedPayload(ValueChange<Value>(old: nil, new: value))
      unsafe rareState.replayValue.isAnnouncement = { $0.payload(ValueChange<Value>.self).isPrior }
      unsafe rareState.replayValue.make = { payload in
        let change = payload.payload(ValueChange<Value>.self)
        return change.isPrior ? nil : OwnedPayload(ValueChange<Value>(old: nil, new: change.new))
      }
    }

    deinit {
      for membership in unsafe memberships { membership.combination.end() }
    }

    /// The caller holds `core.mutex`.
    func choosePath() {
      unsafe rareState.replayValue.needsSlowChange =
        unsafe !computing.isEmpty || !memberships.isEmpty || trackedReads?.isTracked == true
    }

    @inlinable var value: Value { core.mutex.withLock { unsafe box.current } }

    @inlinable func set(_ new: Value) {
      let own = core.enter()
      guard own != 0 else { return _ = enqueue(new) }
      guard core.beginChange(rareState) else { return _ = setInside(new, own) }
      let old = unsafe box.current
      unsafe box.current = new
      unsafe version &+= 1
      core.endChange(rareState)
      if unsafe core.table.first == nil {
        core.sequence &+= 1
      } else {
        lend(ValueChange(old: old, new: new)) { change in
          if let cursor = unsafe core.deliver(change, isPost: true) {
            core.postSlowPath(change, from: cursor, sender: nil)
          }
        }
      }
      core.leave(own)
      withExtendedLifetime(old) {}
    }

    func update<Failure: Error>(_ next: (Value) throws(Failure) -> Value) throws(Failure) {
      let thread = Thread.current
      // Only the first round enters the core. A thread inside calls handlers with `.prior` before
      // it sets the value; if such a handler changed the value in every round, every attempt would
      // fail.
      var mayEnter = true
      while true {
        let (old, seen) = core.mutex.withLock {
          // From the second round on, `computing` has an entry for this thread while `next` runs.
          // If `next` changes the value, `noteChange()` updates the entry so that this `update`
          // overwrites that change. Otherwise, each round would require another one.
          if !mayEnter { unsafe computing.append((thread, version)) }
          return unsafe (box.current, version)
        }
        let new: Value
        do throws(Failure) {
          new = try next(old)
        } catch {
          if !mayEnter { _ = core.mutex.withLock { endComputing(thread) } }
          throw error
        }
        let ifStill: UInt64? = mayEnter ? seen : core.mutex.withLock { endComputing(thread) }
        let own = mayEnter ? core.enter() : 0
        mayEnter = false
        if own != 0 ? setInside(new, own, ifStill: ifStill) : enqueue(new, ifStill: ifStill) { return }
      }
    }

    /// The caller holds `core.mutex`.
    private func endComputing(_ thread: UInt) -> UInt64? {
      unsafe computing.lastIndex { $0.thread == thread }.map { unsafe computing.remove(at: $0).version }
    }

    /// Returns whether the closure of an `update` on this thread made the change, in which case
    /// another round would only repeat it. The caller holds `core.mutex`.
    private func noteChange() -> Bool {
      unsafe version += 1
      guard unsafe !computing.isEmpty else { return false }
      let thread = Thread.current
      var isNested = false
      for i in unsafe computing.indices
      where unsafe computing[i].thread == thread && computing[i].version == version - 1 {
        unsafe computing[i].version = version
        isNested = true
      }
      return isNested
    }

    /// What the change of the value leaves to do after the unlock.
    private struct Assignment {
      let change: ValueChange<Value>  // also keeps the old value, which isn't released before
      let isNested: Bool
      let memberships: [CombinationMembership<Value>]
      var reads: TrackedReads?
    }

    /// The caller holds `core.mutex`, enqueues or delivers the change, and calls ``conclude(_:_:)``.
    private func assign(_ new: Value, _ completion: Completion?) -> Assignment {
      if unsafe rareState.replayValue.isCurrent {
        unsafe rareState.replayValue.value = OwnedPayload(ValueChange<Value>(old: nil, new: box.current))
        unsafe rareState.replayValue.isCurrent = false
      }
      let change = unsafe ValueChange(old: box.current, new: new)
      unsafe box.current = new
      return Assignment(
        change: change, isNested: noteChange(), memberships: push(new, completion), reads: takeTrackedReads())
    }

    /// The caller has left the core, holds no mutex, and has no copy of the assignment, which would
    /// retain the lease of its reads.
    private func conclude(_ done: inout Assignment, isOverloaded: Bool = false) {
      if done.isNested {
        assertionFailure(
          "expected the closure of Observed.update to leave the value alone; it sets it, or updates it. What it sets is overwritten: change what the closure is given."
        )
      }
      tell(&done.reads)
      if collect(done.memberships) || isOverloaded { OverloadControl.slowDown() }
    }

    /// Returns whether the value was set: only if the version is still `seen`. Isolation: core.
    @usableFromInline @inline(never) func setInside(_ new: Value, _ own: UInt, ifStill seen: UInt64? = nil) -> Bool {
      let completion = Completion.ofSetter
      let isPriorTold = unsafe rareState.priorHandlerCount > 0
      if isPriorTold { lend(ValueChange(old: value, new: new, isPrior: true)) { core.deliverQueued($0, nil) } }
      core.mutex.lock()
      if let seen, unsafe version != seen {
        core.mutex.unlock()
        core.leave(own)
        return false
      }
      var done = assign(new, completion)
      // Enqueued work may be an earlier change, or a new handler that must receive this one.
      let isNext = unsafe rareState.mailbox.items.isEmpty
      if !isNext { append(done.change, completion, isPriorTold: isPriorTold) }
      core.mutex.unlock()
      if isNext { lend(done.change) { core.deliverQueued($0, nil) } }
      core.leave(own)
      conclude(&done)
      return true
    }

    /// Returns whether the value was set, as ``setInside(_:_:ifStill:)``.
    @usableFromInline @inline(never) func enqueue(_ new: Value, ifStill seen: UInt64? = nil) -> Bool {
      var done: Assignment?
      let completion = Completion.ofSetter
      let isOverloaded = core.enqueue { rareState in
        if let seen, unsafe version != seen { return false }
        let assignment = assign(new, completion)
        done = assignment
        append(assignment.change, completion, isPriorTold: false)
        return rareState.isOverloaded
      }
      if done == nil { return false }
      conclude(&done!, isOverloaded: isOverloaded)
      return true
    }

    /// The caller holds `core.mutex`.
    private func append(_ change: ValueChange<Value>, _ completion: Completion?, isPriorTold: Bool) {
      let thread = Thread.current
      if !isPriorTold, unsafe rareState.priorHandlerCount + rareState.mailbox.priorHandlerCount > 0 {
        lend(ValueChange(old: change.old, new: change.new, isPrior: true)) {
          // The announcement has its own completion, because lanes may still read it while the
          // delivery of the change writes `observed` into the completion of the change.
          unsafe rareState.mailbox.append($0, completion?.forFurtherOccurrence, by: thread)
        }
      }
      lend(change) { unsafe rareState.mailbox.append($0, completion, by: thread) }
    }
  }
}

/// The event retains this, too, because it may outlive the `Observed`.
// Safe: guarded by `core.mutex`.
@usableFromInline final class ObservedValue<Value: Sendable>: @unchecked Sendable {
  // Guarded by: core.mutex.
  @usableFromInline @exclusivity(unchecked) var current: Value

  init(_ value: Value) { unsafe current = value }
}

// Changes the value of an `Observed`. The mutex is held only for the assignment.
// Isolation: core.
extension EventCore {
  /// Returns whether this thread need only assign and deliver. If so, the mutex stays locked until
  /// ``endChange(_:)``.
  @usableFromInline func beginChange(_ rareState: RareState) -> Bool {
    mutex.lock()
    if unsafe rareState.mailbox.items.isEmpty && rareState.priorHandlerCount == 0
      && !rareState.replayValue.needsSlowChange
    {
      return true
    }
    mutex.unlock()
    return false
  }

  @usableFromInline func endChange(_ rareState: RareState) {
    unsafe rareState.replayValue.isCurrent = true
    let outdated = unsafe rareState.replayValue.value == nil ? nil : rareState.replayValue.value.take()
    mutex.unlock()
    _ = consume outdated  // destroyed after the mutex is released
  }

  var replayValue: OwnedPayload? {
    let rareState = rareState
    return mutex.withLock {
      unsafe rareState.replayValue.isCurrent
        ? rareState.replayValue.makeCurrent?() : rareState.replayValue.value?.copy()
    }
  }
}

// The closures are set before the event is shared.
struct ReplayValue: ~Copyable {
  var make: (@Sendable (BorrowedPayload) -> OwnedPayload?)?
  var isAnnouncement: (@Sendable (BorrowedPayload) -> Bool)?
  var makeCurrent: (@Sendable () -> OwnedPayload)?
  /// Guarded by `core.mutex` while `isCurrent` is true, otherwise isolated to the core.
  var value: OwnedPayload?
  /// True while no change is enqueued, in which case `makeCurrent` supplies the value.
  /// Guarded by: core.mutex.
  var isCurrent = false

  // Guarded by: core.mutex.
  var needsSlowChange = false
}
