// An event with observers, or with an `unheard` event, has no fast path, like an event with a
// history. Each occurrence is enqueued, even if the event is idle, and the queue is drained at
// once. Events without either pay nothing.

extension EventCore {
  /// Enqueues an observation. When its turn comes, its observer is told of the handlers that are
  /// already there.
  ///
  /// Callable from any thread.
  func observe(in observation: Observation, _ name: String?) {
    let (anchor, event) = (anchor, identity(named: name))
    change {
      let only = Observers([observation], of: event)
      unsafe self.forEachSlot { slot in
        let record = unsafe slot.pointee.record
        if unsafe record.index >= 0 { only.added(HandlerToken(record, anchor)) }
      }
      unsafe anchor.observers = anchor.observers?.adding(observation) ?? only
      self.updateMustEnqueue()
    }
  }

  /// Enqueues a change of the event. If too many changes wait, the caller slows down as a poster
  /// does.
  ///
  /// Callable from any thread.
  private func change(_ body: @escaping @Sendable () -> Void) {
    if enqueue(.change(body, by: Thread.current)) { OverloadControl.slowDown() }
  }

  /// Enqueues the removal of observations that have ended. Callable from any thread.
  func forgetObservers() { change { _ = self.livingObservers() } }

  /// Returns the observers that have not ended; `nil` if there are none.
  ///
  /// If the last observation has ended, the event gets its fast path back. Called by the drain.
  /// Isolation: core.
  @usableFromInline func livingObservers() -> Observers? {
    guard let anchor = anchorReference.load(), let before = unsafe anchor.observers else { return nil }
    let living = before.living
    if living !== before {
      unsafe anchor.observers = living
      updateMustEnqueue()
    }
    return living
  }

  /// Returns the event of occurrences that reached no handler. It is created at the first call.
  ///
  /// Callable from any thread.
  func unheard<Payload: Sendable>(_ name: String?) -> Event<Occurrence<Payload>> {
    let pendingWork = pendingWork
    let event = Event<Occurrence<Payload>>("unheard")
    let made = UnheardEvent(name, event) { payload, sender, name, sequence, instant in
      event.post(
        Occurrence(
          payload: payload.payload(Payload.self), sender: sender, eventName: name, sequence: sequence, instant: instant),
        from: sender)
    } finish: {
      event.finish()
    }
    let unheard = pendingWork.unheardReference.load() ?? pendingWork.unheardReference.set(made)
    if unheard === made { change { self.updateMustEnqueue() } }
    return unheard.event as! Event<Occurrence<Payload>>
  }

  /// Decides again whether occurrences must be enqueued. Called by the drain, which stores the core
  /// state when it ends. Isolation: core.
  private func updateMustEnqueue() {
    let isUnheardWanted = pendingWork.unheardReference.load() != nil
    mustEnqueue = unsafe pendingWork.history != nil || anchor.observers != nil || isUnheardWanted
  }

  /// Posts an occurrence to the `unheard` event if it reached no handler. Called after its
  /// delivery. Isolation: core.
  @usableFromInline func reportIfUnheard(_ payload: BorrowedPayload, _ tally: borrowing DeliveryTally) {
    guard let unheard = pendingWorkReference.load()?.unheardReference.load() else { return }
    guard tally.report.reachedNobody && tally.taken == 0 else { return }
    unheard.post(payload, tally.sender, unheard.name, tally.sequence, (tally.instant ?? .now).instant)
  }

  /// Tells the observers that a handler was added or removed. Isolation: core.
  @usableFromInline @inline(__always) func reportHandler(_ record: HandlerRecord, isAdded: Bool) {
    if withAnchor({ unsafe $0.observers != nil }) { reportToObservers(of: record, isAdded: isAdded) }
  }

  /// Tells the observers that a handler was added or removed, if there are any. Isolation: core.
  @usableFromInline @inline(never) func reportToObservers(of record: HandlerRecord, isAdded: Bool) {
    guard let observers = unsafe anchor.observers else { return }
    let token = HandlerToken(record, anchor)
    if isAdded { observers.added(token) } else { observers.removed(token) }
  }

  /// Returns an occurrence as its observers see it; `nil` if the event is not observed.
  /// Isolation: core.
  @usableFromInline func observed(_ sequence: UInt64) -> ObservedOccurrence? {
    unsafe anchorReference.load()?.observers.map { ObservedOccurrence(observers: $0, sequence: sequence) }
  }
}

/// The event of occurrences that reached no handler, with its payload type erased.
@usableFromInline final class UnheardEvent: Sendable {
  typealias Post =
    @Sendable (BorrowedPayload, (any AnyObject & Sendable)?, String?, UInt64, ContinuousClock.Instant) -> Void
  /// The event, an `Event` of occurrences.
  let event: any AnyObject & Sendable
  /// The name of the event whose occurrences these are.
  let name: String?
  /// Posts an occurrence to the event.
  let post: Post
  /// Finishes the event.
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
