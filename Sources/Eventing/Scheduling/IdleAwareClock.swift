/// A clock of a test. It advances when all work has ended, or sleeps on the clock.
///
/// The library tells such a clock of the events that use the clock, and of the timers that sleep on
/// it. Other clocks are told nothing, and cost nothing.
package protocol IdleAwareClock: AnyObject, Sendable {
  /// Notes an event that uses the clock. Several calls for one event count as one.
  func meet(_ event: EventReference)
  /// Notes work of the library that begins: a timer that is about to sleep on the clock with
  /// `Scheduling.isTimer` bound, or a thread that adds delayed work and sets the timer for it.
  func timerBegan()
  /// Notes the end of the work that ``timerBegan()`` noted.
  func timerEnded()
  /// Notes work that begins to wait for a time of the clock although no task sleeps for it, such as
  /// a delay between two attempts.
  func sleepBegan(_ work: SleepingWork)
  /// Notes the end of the wait that ``sleepBegan(_:)`` noted for the work. If a timer ends the
  /// wait, this is, as a rule, called before the timer calls ``timerEnded()``.
  func sleepEnded(_ work: SleepingWork)
}

/// An event, without its payload type. Does not keep the event alive.
package struct EventReference: Sendable, Hashable {
  let anchor: EventAnchor

  package static func == (a: EventReference, b: EventReference) -> Bool { a.anchor === b.anchor }
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(anchor)) }

  /// Whether the event still exists. Never read under a mutex.
  package var isAlive: Bool { anchor.core != nil }

  /// Whether the event has ended. Never read under a mutex.
  package var isFinished: Bool { anchor.core.map { core in core.mutex.withLock { unsafe core.isFinished } } ?? true }

  /// Waits until no call for an occurrence sent before is running or queued: see
  /// ``HandlerRegistry/quiesce()``.
  package nonisolated(nonsending) func quiesce() async {
    _ = await anchor.core?.quiesce(orUntilCancelled: false)
  }

  /// Returns a new probe of the event; `nil` if the event is gone.
  package func probe() -> EventProbe? { anchor.core.map { EventProbe($0) } }
}

extension HandlerToken {
  /// The event of the handler.
  package var event: EventReference { EventReference(anchor: anchor) }
}

/// A handler call that sleeps on a clock, or a node of the wait graph that waits for a time.
package struct SleepingWork: Sendable {
  let node: WaitNode
  /// The call that sleeps; `nil` if `node` waits for a time without a call, such as a call between
  /// two attempts.
  var invocation: Invocation?

  /// The identity of the node.
  package var id: ObjectIdentifier { ObjectIdentifier(node) }

  /// The handler call that the calling task belongs to.
  package static var current: SleepingWork? {
    Invocation.current.map { SleepingWork(node: $0.executionSlot, invocation: $0) }
  }

  /// Whether the handler call `invocation` has not returned. True if `invocation` is `nil`: then
  /// `node` waits without a call.
  var isCurrent: Bool { invocation?.isCurrent ?? true }
}
