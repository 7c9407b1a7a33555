extension Observed {
  /// The value, and the event of its changes.
  ///
  /// The value changes in the step that queues its change, or, if the event is idle, while nothing is queued: so both have one order.
  // Safe: `current` and `version` are guarded by the mailbox's lock.
  @usableFromInline final class Storage: @unchecked Sendable {
    @usableFromInline let event: Event<Change<Value>>
    @usableFromInline let mailbox: Mailbox
    @usableFromInline let backlog: Backlog
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
      mailbox = event.mailbox
      backlog = mailbox.backlog
      unsafe current = value
      unsafe backlog.greetsNow = { [unowned self] in Parcel(Change<Value>(old: nil, new: unsafe self.current)) }
      // What those have been told who joined before, which is not always the value as it is.
      unsafe event.mailbox.backlog.greeting = Parcel(Change<Value>(old: nil, new: value))
      unsafe event.mailbox.backlog.greets = { loan in
        let change = loan.payload(Change<Value>.self)
        return change.isPrior ? nil : Parcel(Change<Value>(old: nil, new: change.new))
      }
    }

    @inlinable var value: Value { mailbox.lock.withLock { unsafe current } }

    /// Nothing is made, and nothing is queued, where nobody listens; a change is told as a post is.
    @inlinable func set(_ new: Value) {
      let own = mailbox.enter()
      guard own != 0 else { return setLate(new) }
      guard unsafe mailbox.beginChange(backlog, unless: &isComputing) else { return setInside(new, own) }
      let old = unsafe current
      unsafe current = new
      unsafe version &+= 1
      mailbox.endChange(backlog)
      if unsafe mailbox.table.first == nil {
        unsafe mailbox.sequence &+= 1
      } else {
        lend(Change(old: old, new: new)) { change in
          if let position = mailbox.deliver(change, isPost: true) { mailbox.postRest(change, from: position, sender: nil) }
        }
      }
      mailbox.leave(own)
      withExtendedLifetime(old) {}
    }

    @usableFromInline @inline(never) func setInside(_ new: Value, _ own: UInt) {
      _ = setInside(new, ifStill: nil)
      mailbox.leave(own)
    }

    @usableFromInline @inline(never) func setLate(_ new: Value) {
      if queue(new, ifStill: nil) == true { Flood.slowDown() }
    }

    /// Computes again if another thread was faster. Not under the lock: computing a value is the caller's code.
    func update(_ next: (Value) -> Value) {
      let mailbox = event.mailbox
      let thread = Thread.current
      // Entered once at most: a handler that is called before the change may change the value each time.
      var mayEnter = true
      while true {
        let (old, seen) = mailbox.lock.withLock {
          // From the second attempt on it is known which thread computes: its closure may be what changes the value each time.
          if !mayEnter { unsafe computing.append((thread, version)) }
          return unsafe (current, version)
        }
        let new = next(old)
        let ifStill: UInt64? = mayEnter ? seen : mailbox.lock.withLock { endComputing(thread) }
        let own = mayEnter ? mailbox.enter() : 0
        mayEnter = false
        if own != 0 {
          let isSet = setInside(new, ifStill: ifStill)
          mailbox.leave(own)
          if isSet { return }
        } else if let isFlooded = queue(new, ifStill: ifStill) {
          if isFlooded { Flood.slowDown() }
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
      for i in unsafe computing.indices where unsafe computing[i].thread == thread && computing[i].version == version - 1 {
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
      let mailbox = event.mailbox
      let backlog = mailbox.backlog
      let flight = flightOfSender
      let isPriorTold = unsafe backlog.wantPrior > 0
      if isPriorTold { lend(Change(old: value, new: new, isPrior: true)) { mailbox.deliverQueued($0, nil) } }
      mailbox.lock.lock()
      if let seen, unsafe version != seen {
        mailbox.lock.unlock()
        return false
      }
      keepGreeting()
      let change = unsafe Change(old: current, new: new)
      unsafe current = new
      let isNested = noteChange()
      // What was queued meanwhile comes first: it may be another change, or a handler that wants to hear of this one.
      let isNext = unsafe backlog.queue.isEmpty
      if !isNext { append(change, to: backlog, flight, isPriorTold: isPriorTold) }
      mailbox.lock.unlock()
      if isNested { refuseNested() }
      if isNext { lend(change) { mailbox.deliverQueued($0, nil) } }
      return true
    }

    /// Busy: nil if another thread was faster, otherwise whether to slow down.
    private func queue(_ new: Value, ifStill seen: UInt64?) -> Bool? {
      var old: Value?  // released after the lock
      var isNested = false
      let flight = flightOfSender
      let isFlooded = event.mailbox.queue { backlog in
        if let seen, unsafe version != seen { return false }
        keepGreeting()
        let change = unsafe Change(old: current, new: new)
        unsafe old = current
        unsafe current = new
        isNested = noteChange()
        append(change, to: backlog, flight, isPriorTold: false)
        return backlog.isFlooded
      }
      if isNested { refuseNested() }
      return old == nil ? nil : isFlooded
    }

    /// Under the lock, before a change that is told later.
    private func keepGreeting() {
      guard unsafe backlog.isGreetingCurrent else { return }
      unsafe backlog.greeting = Parcel(Change<Value>(old: nil, new: current))
      unsafe backlog.isGreetingCurrent = false
    }

    /// What has the task-local values of whoever sets the value.
    private var flightOfSender: Flight? { CarriedContext.isCarrying ? Flight(.post) : nil }

    /// Under the lock: queues a change, after what is told before it, unless that was told already.
    private func append(_ change: Change<Value>, to backlog: Backlog, _ flight: Flight?, isPriorTold: Bool) {
      let thread = Thread.current
      if !isPriorTold, unsafe backlog.wantPrior + backlog.joiningPrior > 0 {
        lend(Change(old: change.old, new: change.new, isPrior: true)) {
          // A flight of its own: lanes may have this one while the change gets its observers.
          unsafe backlog.queue.append(.occurrence(by: thread, flight?.withoutWaiting), $0)
        }
        unsafe backlog.occurrences &+= 1
      }
      lend(change) { unsafe backlog.queue.append(.occurrence(by: thread, flight), $0) }
      unsafe backlog.occurrences &+= 1
    }
  }
}
