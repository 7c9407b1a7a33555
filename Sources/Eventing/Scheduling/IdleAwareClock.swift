package protocol IdleAwareClock: AnyObject, Sendable {
  func meet(_ event: EventReference)
  /// Work begins because a timer is being set or is about to sleep with `Scheduling.isTimer` bound.
  func timerBegan()
  func timerEnded()
  /// For work that waits without a sleeping task, such as a delay between two attempts.
  func sleepBegan(_ work: SleepingWork)
  func sleepEnded(_ work: SleepingWork)
}

package struct EventReference: Sendable, Hashable {
  let anchor: EventAnchor

  // Both variables read a weak reference, so they must never be read under a mutex.
  package var isAlive: Bool { anchor.core != nil }

  package var isFinished: Bool { anchor.core.map { core in core.mutex.withLock { unsafe core.isFinished } } ?? true }

  package nonisolated(nonsending) func quiesce() async {
    _ = await anchor.core?.quiesce(orUntilCancelled: false)
  }

  package func probe() -> EventProbe? { anchor.core.map { EventProbe($0) } }
}

extension HandlerToken {
  package var event: EventReference { EventReference(anchor: anchor) }
}

package struct SleepingWork: Sendable {
  let node: WaitNode
  var invocation: Invocation?

  package var id: ObjectIdentifier { ObjectIdentifier(node) }

  package static var current: SleepingWork? {
    Invocation.current.map { SleepingWork(node: $0.executionSlot, invocation: $0) }
  }

  var isCurrent: Bool { invocation?.isCurrent ?? true }
}
