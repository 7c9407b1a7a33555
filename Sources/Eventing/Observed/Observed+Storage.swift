extension Observed {
  /// The value, and the event of its changes.
  ///
  /// The value changes in the step that queues its change, or, if the event is idle, while nothing is queued: so both have one order.
  // Safe: `current` and `version` are guarded by the mailbox's lock.
  final class Storage: @unchecked Sendable {
    let event = Event<Change<Value>>()
    @exclusivity(unchecked) private var current: Value
    /// How often the value was set.
    @exclusivity(unchecked) private var version: UInt64 = 0

    init(_ value: Value) {
      unsafe current = value
      // What those have been told who joined before, which is not always the value as it is.
      unsafe event.mailbox.backlog.greeting = Change(old: nil, new: value)
      unsafe event.mailbox.backlog.greets = { $0.isPrior ? nil : Change(old: nil, new: $0.new) }
    }

    var value: Value { event.mailbox.lock.withLock { unsafe current } }

    func set(_ new: Value) {
      let mailbox = event.mailbox
      let own = mailbox.enter()
      guard own != 0 else {
        if queue(new, ifStill: nil) == true { Flood.slowDown() }
        return
      }
      _ = setInside(new, ifStill: nil)
      mailbox.leave(own)
    }

    /// Computes again if another thread was faster. Not under the lock: computing a value is the caller's code.
    func update(_ next: (Value) -> Value) {
      let mailbox = event.mailbox
      // Entered once at most: a handler that is called before the change may change the value each time.
      var mayEnter = true
      while true {
        let (old, seen) = mailbox.lock.withLock { unsafe (current, version) }
        let new = next(old)
        let own = mayEnter ? mailbox.enter() : 0
        mayEnter = false
        if own != 0 {
          let isSet = setInside(new, ifStill: seen)
          mailbox.leave(own)
          if isSet { return }
        } else if let isFlooded = queue(new, ifStill: seen) {
          if isFlooded { Flood.slowDown() }
          return
        }
      }
    }

    /// Inside, and idle till now: false if another thread was faster.
    private func setInside(_ new: Value, ifStill seen: UInt64?) -> Bool {
      let mailbox = event.mailbox
      let backlog = mailbox.backlog
      let flight = flightOfSender
      if unsafe backlog.wantPrior > 0 { mailbox.deliverQueued(Change(old: value, new: new, isPrior: true), nil) }
      mailbox.lock.lock()
      if let seen, unsafe version != seen {
        mailbox.lock.unlock()
        return false
      }
      let change = unsafe Change(old: current, new: new)
      unsafe current = new
      unsafe version += 1
      // What was queued meanwhile comes first: it may be another change, or a handler that wants to hear of this one.
      let isNext = unsafe backlog.queue.isEmpty
      if !isNext { append(change, to: backlog, flight) }
      mailbox.lock.unlock()
      if isNext { mailbox.deliverQueued(change, nil) }
      return true
    }

    /// Busy: nil if another thread was faster, otherwise whether to slow down.
    private func queue(_ new: Value, ifStill seen: UInt64?) -> Bool? {
      var old: Value?  // released after the lock
      let flight = flightOfSender
      let isFlooded = event.mailbox.queue { backlog in
        if let seen, unsafe version != seen { return false }
        let change = unsafe Change(old: current, new: new)
        unsafe old = current
        unsafe current = new
        unsafe version += 1
        append(change, to: backlog, flight)
        return backlog.isFlooded
      }
      return old == nil ? nil : isFlooded
    }

    /// What has the task-local values of whoever sets the value.
    private var flightOfSender: Flight? { CarriedContext.isCarrying ? Flight(.post) : nil }

    /// Under the lock: queues a change, after what is told before it.
    private func append(_ change: Change<Value>, to backlog: Backlog<Change<Value>>, _ flight: Flight?) {
      let thread = Thread.current
      if unsafe backlog.wantPrior + backlog.joiningPrior > 0 {
        unsafe backlog.queue.append(.occurrence(Change(old: change.old, new: change.new, isPrior: true), by: thread, flight))
        unsafe backlog.occurrences &+= 1
      }
      unsafe backlog.queue.append(.occurrence(change, by: thread, flight))
      unsafe backlog.occurrences &+= 1
    }
  }
}
