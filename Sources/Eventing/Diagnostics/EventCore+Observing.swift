// An event that is observed, or whose unheard occurrences somebody asks for, is not entered the quick way, as one that keeps a history: what is sent to it is queued, by whoever
// finds it idle too, and worked off at once. So those that nobody observes pay nothing.

extension EventCore {
  /// From any thread.
  func observe(in observation: Observation, _ name: String?) {
    let identity = identity
    change {
      let only = Observers([observation], of: name)
      unsafe self.forEachSlot { slot in
        let record = unsafe slot.pointee.record
        if unsafe record.index >= 0 { only.added(HandlerToken(record, identity)) }
      }
      unsafe identity.observers = identity.observers?.adding(observation) ?? only
      self.updateMustEnqueue()
    }
  }

  /// From any thread: changes what the event is, in its turn. In a flood of changes the caller naps, as posters do.
  private func change(_ body: @escaping @Sendable () -> Void) {
    if enqueue(.change(body, by: Thread.current)) { OverloadControl.slowDown() }
  }

  /// From any thread: some observation has ended.
  func forgetObservers() { change { _ = self.livingObservers() } }

  /// Inside, while the queue is worked off: those that observe now. If there are none any more, the event is entered the quick way again.
  @usableFromInline func livingObservers() -> Observers? {
    guard let identity = identityReference.load(), let before = unsafe identity.observers else { return nil }
    let living = before.living
    if living !== before {
      unsafe identity.observers = living
      updateMustEnqueue()
    }
    return living
  }

  /// From any thread: the event of what reached nobody; made when first asked for.
  func unheard<Payload: Sendable>(_ name: String?) -> Event<Occurrence<Payload>> {
    let pendingWork = pendingWork
    let event = Event<Occurrence<Payload>>("unheard")
    let made = UnheardEvent(name, event) { loan, sender, name, sequence, instant in
      event.post(
        Occurrence(
          payload: loan.payload(Payload.self), sender: sender, eventName: name, sequence: sequence, instant: instant),
        from: sender)
    } finish: {
      event.finish()
    }
    let unheard = pendingWork.unheardReference.load() ?? pendingWork.unheardReference.set(made)
    if unheard === made { change { self.updateMustEnqueue() } }
    return unheard.event as! Event<Occurrence<Payload>>
  }

  /// Inside, while the queue is worked off, whose end sets the word.
  private func updateMustEnqueue() {
    let isUnheardWanted = pendingWork.unheardReference.load() != nil
    mustEnqueue = unsafe pendingWork.history != nil || identity.observers != nil || isUnheardWanted
  }

  /// Inside, after an occurrence: tells if it reached nobody.
  @usableFromInline func tellIfUnheard(_ payload: BorrowedPayload, _ tally: borrowing DeliveryTally) {
    guard let unheard = pendingWorkReference.load()?.unheardReference.load() else { return }
    guard tally.delivered + tally.taken + tally.held + tally.failures.count == 0 else { return }
    unheard.post(payload, tally.sender, unheard.name, tally.sequence, (tally.instant ?? .now).instant)
  }

  /// Inside: a handler has joined, or left.
  @usableFromInline @inline(__always) func tellOf(_ record: HandlerRecord, isAdded: Bool) {
    if withIdentity({ unsafe $0.observers != nil }) { tellObservers(of: record, isAdded: isAdded) }
  }

  @usableFromInline @inline(never) func tellObservers(of record: HandlerRecord, isAdded: Bool) {
    guard let observers = unsafe identity.observers else { return }
    let token = HandlerToken(record, identity)
    if isAdded { observers.added(token) } else { observers.removed(token) }
  }
}

/// Where an event's occurrences go that reached nobody.
@usableFromInline final class UnheardEvent: Sendable {
  typealias Post =
    @Sendable (BorrowedPayload, (any AnyObject & Sendable)?, String?, UInt64, ContinuousClock.Instant) -> Void
  let event: any AnyObject & Sendable
  let name: String?
  let post: Post
  let finish: @Sendable () -> Void

  init(
    _ name: String?, _ event: any AnyObject & Sendable, _ post: @escaping Post, finish: @escaping @Sendable () -> Void
  ) {
    self.name = name
    self.event = event
    self.post = post
    self.finish = finish
  }
}
