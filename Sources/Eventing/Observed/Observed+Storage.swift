extension Observed {
  /// The value, and the event of its changes.
  ///
  /// Handlers receive the changes in the order in which the value took them. If the setting thread
  /// enters the idle event and finds no work enqueued, the value changes first, and this thread
  /// then delivers the change. Otherwise the value changes in the critical section that enqueues
  /// the change.
  ///
  /// If more has to be done for a change than that, such as telling Observation after a tracked
  /// read (see ``TrackedReads``), `set(_:)` leaves the change to `setInside(_:_:)`. The flag
  /// ``ReplayValue/needsSlowChange`` says so.
  // Safe: each field says what guards it.
  @usableFromInline final class Storage: @unchecked Sendable {
    @usableFromInline let event: Event<ValueChange<Value>>
    @usableFromInline let core: EventCore
    @usableFromInline let pendingWork: PendingWork
    @usableFromInline let box: ObservedValue<Value>
    /// The number of times the value was set. Guarded by: core.mutex.
    @usableFromInline @exclusivity(unchecked) var version: UInt64 = 0
    /// The threads on which an `update` calls its closure for the second time or later. Each has
    /// the `version` that the value must still have when the closure has returned. Guarded by:
    /// core.mutex.
    @exclusivity(unchecked) private var computing: [(thread: UInt, version: UInt64)] = [] {
      didSet { choosePath() }
    }
    /// The combinations that the value is part of. Never changed in place, because threads read the
    /// array after they have released the mutex. Guarded by: core.mutex.
    @exclusivity(unchecked) var memberships: [CombinationMembership<Value>] = [] { didSet { choosePath() } }
    /// The reads of the value since Observation was last told of a change. `nil` if the value has
    /// not been read since that change, or if no thread has tracked its reads yet (see
    /// ``Tracking``). Guarded by: core.mutex.
    @exclusivity(unchecked) var trackedReads: TrackedReads?

    init(_ value: Value, _ name: String?, _ policy: FailurePolicy) {
      event = Event<ValueChange<Value>>(name, onFailure: policy)
      core = event.core
      pendingWork = core.pendingWork
      box = ObservedValue(value)
      // The event may outlive this object, and still add handlers, which need the current value. So
      // the event retains the box.
      unsafe pendingWork.replayValue.makeCurrent = { [box] in
        OwnedPayload(ValueChange<Value>(old: nil, new: unsafe box.current))
      }
      // The replay value follows the delivered changes, not `current`. A change that is still
      // enqueued reaches a new handler as a change.
      unsafe pendingWork.replayValue.value = OwnedPayload(ValueChange<Value>(old: nil, new: value))
      unsafe pendingWork.replayValue.isAnnouncement = { $0.payload(ValueChange<Value>.self).isPrior }
      unsafe pendingWork.replayValue.make = { payload in
        let change = payload.payload(ValueChange<Value>.self)
        return change.isPrior ? nil : OwnedPayload(ValueChange<Value>(old: nil, new: change.new))
      }
    }

    deinit {
      for membership in unsafe memberships { membership.combination.end() }
    }

    /// Notes whether `set(_:)` must leave the next changes to `setInside(_:_:)`. The caller holds
    /// `core.mutex`.
    func choosePath() {
      unsafe pendingWork.replayValue.needsSlowChange =
        unsafe !computing.isEmpty || !memberships.isEmpty || trackedReads?.isTracked == true
    }

    @inlinable var value: Value { core.mutex.withLock { unsafe box.current } }

    /// Sets the value, and delivers the change as a post does.
    ///
    /// If there are no handlers, this allocates nothing and enqueues nothing.
    @inlinable func set(_ new: Value) {
      let own = core.enter()
      guard own != 0 else { return setLate(new) }
      guard core.beginChange(pendingWork) else { return setInside(new, own) }
      let old = unsafe box.current
      unsafe box.current = new
      unsafe version &+= 1
      core.endChange(pendingWork)
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

    /// Sets the value after this thread has entered the core and `beginChange(_:)` has returned
    /// false: more has to be done than to assign the value and deliver the change. Then leaves the
    /// core. Isolation: core, until the thread leaves.
    @usableFromInline @inline(never) func setInside(_ new: Value, _ own: UInt) {
      _ = setInside(new, ifStill: nil, own)
    }

    /// Sets the value while the event is busy, and enqueues the change.
    @usableFromInline @inline(never) func setLate(_ new: Value) {
      if queue(new, ifStill: nil) == true { OverloadControl.slowDown() }
    }

    /// Replaces the value by the result of a closure.
    ///
    /// Calls the closure again if another thread changed the value meanwhile. The closure is the
    /// caller's code, so no mutex is held while it runs.
    func update<Failure: Error>(_ next: (Value) throws(Failure) -> Value) throws(Failure) {
      let core = event.core
      let thread = Thread.current
      // Only the first round of this loop (one call of `next`, and the attempt to set its result)
      // enters the core. A thread that has entered the core calls handlers with `.prior` before it
      // sets the value. If such a handler changed the value in every round, every attempt would
      // fail.
      var mayEnter = true
      while true {
        let (old, seen) = core.mutex.withLock {
          // From the second round on, `computing` has an entry for this thread while `next` runs.
          // If `next` itself changes the value, `noteChange()` stores the new version in that
          // entry. So this `update` accepts the new version, and overwrites the change that `next`
          // made. Otherwise this `update` would call `next` again, which would change the value
          // again, and so on for ever. Only a change by another thread makes a further round
          // necessary.
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
        if own != 0 {
          if setInside(new, ifStill: ifStill, own) { return }
        } else if let mustSlowDown = queue(new, ifStill: ifStill) {
          if mustSlowDown { OverloadControl.slowDown() }
          return
        }
      }
    }

    /// Removes the entry of a thread's innermost `update` from `computing`. Returns the version
    /// that the value must still have for that `update` to set it. The caller holds `core.mutex`.
    private func endComputing(_ thread: UInt) -> UInt64? {
      unsafe computing.lastIndex { $0.thread == thread }.map { unsafe computing.remove(at: $0).version }
    }

    /// Counts a change of the value. The caller holds `core.mutex`.
    ///
    /// If the closure of an `update` on this thread made the change, that `update` accepts the new
    /// version. Otherwise the `update` would call its closure again, which would change the value
    /// again, and so on for ever.
    ///
    /// - Returns: Whether the closure of an `update` on this thread made the change.
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

    /// Stops a debug build in which the closure of an `update` changed the value that it updates.
    private func refuseNested() {
      assertionFailure(
        "expected the closure of Observed.update to leave the value alone; it sets it, or updates it. What it sets is overwritten: change what the closure is given."
      )
    }

    /// Sets the value, and delivers the change; enqueues it if other work is enqueued. Then leaves
    /// the core, and delivers the change to the combinations. Isolation: core, until it leaves.
    ///
    /// - Parameter seen: The version that the value must still have; `nil` for any.
    /// - Returns: `false` if another thread has changed the value.
    private func setInside(_ new: Value, ifStill seen: UInt64?, _ own: UInt) -> Bool {
      let core = event.core
      let pendingWork = core.pendingWork
      let completion = Completion.ofSetter
      let isPriorTold = unsafe pendingWork.priorHandlerCount > 0
      if isPriorTold { lend(ValueChange(old: value, new: new, isPrior: true)) { core.deliverQueued($0, nil) } }
      core.mutex.lock()
      if let seen, unsafe version != seen {
        core.mutex.unlock()
        core.leave(own)
        return false
      }
      keepReplayValue()
      let change = unsafe ValueChange(old: box.current, new: new)
      unsafe box.current = new
      let isNested = noteChange()
      let memberships = push(new, completion)
      var reads = takeTrackedReads()
      // Enqueued work comes first: it may be an earlier change, or a new handler that must receive
      // the change made here.
      let isNext = unsafe pendingWork.mailbox.items.isEmpty
      if !isNext { append(change, to: pendingWork, completion, isPriorTold: isPriorTold) }
      core.mutex.unlock()
      if isNested { refuseNested() }
      if isNext { lend(change) { core.deliverQueued($0, nil) } }
      core.leave(own)
      tell(&reads)
      if collect(memberships) { OverloadControl.slowDown() }
      return true
    }

    /// Sets the value, enqueues the change in the event, which is busy, and delivers the change to
    /// the combinations.
    ///
    /// - Parameter seen: The version that the value must still have; `nil` for any.
    /// - Returns: `nil` if another thread has changed the value; otherwise whether the event is
    ///   overloaded, so that the caller must sleep: see ``OverloadControl/slowDown()``.
    private func queue(_ new: Value, ifStill seen: UInt64?) -> Bool? {
      var old: Value?  // Released after the unlock.
      var isNested = false
      var memberships: [CombinationMembership<Value>] = []
      var reads: TrackedReads?
      let completion = Completion.ofSetter
      let isOverloaded = event.core.enqueue { pendingWork in
        if let seen, unsafe version != seen { return false }
        keepReplayValue()
        let change = unsafe ValueChange(old: box.current, new: new)
        unsafe old = box.current
        unsafe box.current = new
        isNested = noteChange()
        memberships = push(new, completion)
        reads = takeTrackedReads()
        append(change, to: pendingWork, completion, isPriorTold: false)
        return pendingWork.isOverloaded
      }
      if isNested { refuseNested() }
      if old == nil { return nil }
      tell(&reads)
      let isCombinationOverloaded = collect(memberships)
      return isOverloaded || isCombinationOverloaded
    }

    /// Stores the current value as the ``ReplayValue``, before a change that is delivered later. A
    /// handler that joins before that delivery receives the stored value first. Does nothing if an
    /// earlier change is enqueued: then a value is stored already. The caller holds `core.mutex`.
    private func keepReplayValue() {
      guard unsafe pendingWork.replayValue.isCurrent else { return }
      unsafe pendingWork.replayValue.value = OwnedPayload(ValueChange<Value>(old: nil, new: box.current))
      unsafe pendingWork.replayValue.isCurrent = false
    }

    /// Enqueues a change. If a handler wants a call before each change, first enqueues the
    /// occurrence for that call, the announcement, unless it was delivered already (`isPriorTold`).
    /// The caller holds `core.mutex`.
    private func append(
      _ change: ValueChange<Value>, to pendingWork: PendingWork, _ completion: Completion?, isPriorTold: Bool
    ) {
      let thread = Thread.current
      if !isPriorTold, unsafe pendingWork.priorHandlerCount + pendingWork.mailbox.priorHandlerCount > 0 {
        lend(ValueChange(old: change.old, new: change.new, isPrior: true)) {
          // The announcement, the occurrence before the change, has a completion of its own. Lanes
          // may still read that completion while the delivery of the change writes `observed` into
          // the completion of the change.
          unsafe pendingWork.mailbox.append($0, completion?.forFurtherOccurrence, by: thread)
        }
      }
      lend(change) { unsafe pendingWork.mailbox.append($0, completion, by: thread) }
    }
  }
}

/// The place of the current value of an ``Observed``. The `Observed` and its event both retain this
/// object. If the event outlives the `Observed`, a handler that is added to the event can still
/// receive the value.
// Safe: guarded by `core.mutex`.
@usableFromInline final class ObservedValue<Value: Sendable>: @unchecked Sendable {
  /// Guarded by: core.mutex.
  @usableFromInline @exclusivity(unchecked) var current: Value

  init(_ value: Value) { unsafe current = value }
}
