extension Observed {
  /// The value, and the event of its changes.
  ///
  /// The value changes in the step that queues its change, or, if the event is idle, while nothing is queued: so both have one order.
  // Safe: `current` and `version` are guarded by the core's lock.
  @usableFromInline final class Storage: @unchecked Sendable {
    @usableFromInline let event: Event<Change<Value>>
    @usableFromInline let core: EventCore
    @usableFromInline let pendingWork: PendingWork
    @usableFromInline @exclusivity(unchecked) var current: Value
    /// How often the value was set.
    @usableFromInline @exclusivity(unchecked) var version: UInt64 = 0
    /// The threads that compute a value for the second time, or more often, and the version that each expects. Under the lock.
    @exclusivity(unchecked) private var computing: [(thread: UInt, version: UInt64)] = [] {
      didSet { unsafe isComputing = unsafe !computing.isEmpty }
    }
    @usableFromInline @exclusivity(unchecked) var isComputing = false

    init(_ value: Value) {
      event = Event<Change<Value>>()
      core = event.core
      pendingWork = core.pendingWork
      unsafe current = value
      unsafe pendingWork.makeCurrentReplayValue = { [unowned self] in
        OwnedPayload(Change<Value>(old: nil, new: unsafe self.current))
      }
      // What those have been told who joined before, which is not always the value as it is.
      unsafe event.core.pendingWork.replayValue = OwnedPayload(Change<Value>(old: nil, new: value))
      unsafe event.core.pendingWork.makeReplayValue = { loan in
        let change = loan.payload(Change<Value>.self)
        return change.isPrior ? nil : OwnedPayload(Change<Value>(old: nil, new: change.new))
      }
    }

    @inlinable var value: Value { core.mutex.withLock { unsafe current } }

    /// Nothing is made, and nothing is queued, where nobody listens; a change is told as a post is.
    @inlinable func set(_ new: Value) {
      let own = core.enter()
      guard own != 0 else { return setLate(new) }
      guard unsafe core.beginChange(pendingWork, unless: &isComputing) else { return setInside(new, own) }
      let old = unsafe current
      unsafe current = new
      unsafe version &+= 1
      core.endChange(pendingWork)
      if unsafe core.table.first == nil {
        unsafe core.sequence &+= 1
      } else {
        lend(Change(old: old, new: new)) { change in
          if let position = core.deliver(change, isPost: true) {
            core.postSlowPath(change, from: position, sender: nil)
          }
        }
      }
      core.leave(own)
      withExtendedLifetime(old) {}
    }

    @usableFromInline @inline(never) func setInside(_ new: Value, _ own: UInt) {
      _ = setInside(new, ifStill: nil)
      core.leave(own)
    }

    @usableFromInline @inline(never) func setLate(_ new: Value) {
      if queue(new, ifStill: nil) == true { OverloadControl.slowDown() }
    }

    /// Computes again if another thread was faster. Not under the lock: computing a value is the caller's code.
    func update(_ next: (Value) -> Value) {
      let core = event.core
      let thread = Thread.current
      // Entered once at most: a handler that is called before the change may change the value each time.
      var mayEnter = true
      while true {
        let (old, seen) = core.mutex.withLock {
          // From the second attempt on it is known which thread computes: its closure may be what changes the value each time.
          if !mayEnter { unsafe computing.append((thread, version)) }
          return unsafe (current, version)
        }
        let new = next(old)
        let ifStill: UInt64? = mayEnter ? seen : core.mutex.withLock { endComputing(thread) }
        let own = mayEnter ? core.enter() : 0
        mayEnter = false
        if own != 0 {
          let isSet = setInside(new, ifStill: ifStill)
          core.leave(own)
          if isSet { return }
        } else if let isFlooded = queue(new, ifStill: ifStill) {
          if isFlooded { OverloadControl.slowDown() }
          return
        }
      }
    }

    /// Under the lock: the version that the innermost `update` of a thread expects.
    private func endComputing(_ thread: UInt) -> UInt64? {
      unsafe computing.lastIndex { $0.thread == thread }.map { unsafe computing.remove(at: $0).version }
    }

    /// Under the lock: the value has changed. If the closure of an `update` has changed it, that `update` is to go on all the same:
    /// it would call its closure, which changes the value, for ever.
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

    /// A change was made by the closure of an `update` of the same value.
    private func refuseNested() {
      assertionFailure(
        "expected the closure of Observed.update to leave the value alone; it sets it, or updates it. What it sets is overwritten: change what the closure is given."
      )
    }

    /// Inside, and idle till now: false if another thread was faster.
    private func setInside(_ new: Value, ifStill seen: UInt64?) -> Bool {
      let core = event.core
      let pendingWork = core.pendingWork
      let completion = completionOfSender
      let isPriorTold = unsafe pendingWork.wantPrior > 0
      if isPriorTold { lend(Change(old: value, new: new, isPrior: true)) { core.deliverQueued($0, nil) } }
      core.mutex.lock()
      if let seen, unsafe version != seen {
        core.mutex.unlock()
        return false
      }
      keepReplayValue()
      let change = unsafe Change(old: current, new: new)
      unsafe current = new
      let isNested = noteChange()
      // What was queued meanwhile comes first: it may be another change, or a handler that wants to hear of this one.
      let isNext = unsafe pendingWork.queue.isEmpty
      if !isNext { append(change, to: pendingWork, completion, isPriorTold: isPriorTold) }
      core.mutex.unlock()
      if isNested { refuseNested() }
      if isNext { lend(change) { core.deliverQueued($0, nil) } }
      return true
    }

    /// Busy: nil if another thread was faster, otherwise whether to slow down.
    private func queue(_ new: Value, ifStill seen: UInt64?) -> Bool? {
      var old: Value?  // released after the lock
      var isNested = false
      let completion = completionOfSender
      let isFlooded = event.core.queue { pendingWork in
        if let seen, unsafe version != seen { return false }
        keepReplayValue()
        let change = unsafe Change(old: current, new: new)
        unsafe old = current
        unsafe current = new
        isNested = noteChange()
        append(change, to: pendingWork, completion, isPriorTold: false)
        return pendingWork.isFlooded
      }
      if isNested { refuseNested() }
      return old == nil ? nil : isFlooded
    }

    /// Under the lock, before a change that is told later.
    private func keepReplayValue() {
      guard unsafe pendingWork.isReplayValueCurrent else { return }
      unsafe pendingWork.replayValue = OwnedPayload(Change<Value>(old: nil, new: current))
      unsafe pendingWork.isReplayValueCurrent = false
    }

    /// What has the task-local values of whoever sets the value.
    private var completionOfSender: Completion? { CarriedContext.isCarrying ? Completion(.post) : nil }

    /// Under the lock: queues a change, after what is told before it, unless that was told already.
    private func append(
      _ change: Change<Value>, to pendingWork: PendingWork, _ completion: Completion?, isPriorTold: Bool
    ) {
      let thread = Thread.current
      if !isPriorTold, unsafe pendingWork.wantPrior + pendingWork.pendingPriorCount > 0 {
        lend(Change(old: change.old, new: change.new, isPrior: true)) {
          // A completion of its own: lanes may have this one while the change gets its observers.
          unsafe pendingWork.queue.append(.occurrence(by: thread, completion?.withoutWaiting), $0)
        }
        unsafe pendingWork.occurrences &+= 1
      }
      lend(change) { unsafe pendingWork.queue.append(.occurrence(by: thread, completion), $0) }
      unsafe pendingWork.occurrences &+= 1
    }
  }
}
