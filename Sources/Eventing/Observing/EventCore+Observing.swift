import Synchronization

// An event with observers, or with an `unhandled` event, sets `mustEnqueue`. So `enter()` fails:
// each occurrence is enqueued, even if the event is idle, and the mailbox is drained at once. An
// event with a history sets `mustEnqueue`, too, but delivers a post at once if it is idle. Other
// events pay nothing.

extension EventCore {
  /// Enqueues an observation. When the drain comes to the observation, it tells the observer of the
  /// handlers that the event has at that moment.
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

  /// Enqueues a trace of the event. Callable from any thread.
  func trace(with tracing: EventTracing, _ name: String?) {
    let (anchor, event) = (anchor, identity(named: name))
    // From now on, each occurrence that is enqueued notes the call that sent it. Before the drain
    // comes to the change below, it may find that an earlier trace or observation has ended, and
    // clear `isTraced`. So the change sets `isTraced` again.
    pendingWork.isTraced.store(true, ordering: .relaxed)
    change {
      unsafe anchor.observers = anchor.observers?.adding(tracing) ?? Observers([], [tracing], of: event)
      self.pendingWork.isTraced.store(true, ordering: .relaxed)
      self.updateMustEnqueue()
    }
  }

  /// Enqueues a change of the event. If too many changes wait, the caller slows down as a poster
  /// does.
  ///
  /// Callable from any thread.
  func change(_ body: @escaping @Sendable () -> Void) {
    if enqueue(.change(body, by: Thread.current)) { OverloadControl.slowDown() }
  }

  /// Enqueues the removal of observations that have ended. Callable from any thread.
  func forgetObservers() { change { _ = self.livingObservers() } }

  /// Returns the observers that have not ended; `nil` if there are none.
  ///
  /// If the last observation has ended, the event gets its fast path back, unless it has a history
  /// or an `unhandled` event. Called by the drain. Isolation: core.
  func livingObservers() -> Observers? {
    guard let anchor = anchorReference.load(), let before = unsafe anchor.observers else { return nil }
    let living = before.living
    if living !== before {
      unsafe anchor.observers = living
      pendingWork.isTraced.store(living?.traces.isEmpty == false, ordering: .relaxed)
      updateMustEnqueue()
    }
    return living
  }

  /// Sets ``mustEnqueue`` if there is a history, an observer or an `unhandled` event, and clears it
  /// otherwise. Called by the drain. When the drain leaves the core, it copies ``mustEnqueue`` into
  /// the state word. Isolation: core.
  func updateMustEnqueue() {
    let isUnhandledWanted = pendingWork.unhandledReference.load() != nil
    mustEnqueue = unsafe pendingWork.history != nil || anchor.observers != nil || isUnhandledWanted
  }

  /// Tells the observers that a handler was added or removed. Isolation: core.
  @inline(__always) func reportHandler(_ record: HandlerRecord, isAdded: Bool) {
    if withAnchor({ unsafe $0.observers != nil }) { reportToObservers(of: record, isAdded: isAdded) }
  }

  /// Tells the observers that a handler was added or removed, if there are any. Isolation: core.
  @inline(never) func reportToObservers(of record: HandlerRecord, isAdded: Bool) {
    guard let observers = unsafe anchor.observers else { return }
    let token = HandlerToken(record, anchor)
    if isAdded { observers.added(token) } else { observers.removed(token) }
  }

  /// Returns an occurrence as its observers see it; `nil` if the event is not observed.
  /// Isolation: core.
  func observed(_ sequence: UInt64) -> ObservedOccurrence? {
    unsafe anchorReference.load()?.observers.map { ObservedOccurrence(observers: $0, sequence: sequence) }
  }
}
