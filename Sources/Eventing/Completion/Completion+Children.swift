// The calls of `.task` handlers, which the task that awaits the `send` runs as child tasks.
extension Completion {
  /// Wakes the sender, which runs the call as a child task. If the result is false, the sender does
  /// not wait for the call, so the call must not become its child: a task waits for its children.
  func adoptUnlessDeferred(_ node: WaitNode, priority: UInt8?, _ body: @escaping @Sendable () async -> Void) -> Bool {
    if let root { return root.adoptUnlessDeferred(node, priority: priority, body) }
    let ready = unsafe withMutex { () -> [UnsafeContinuation<Void, Never>]? in
      guard let sender = waiters.first, !sender.hasGivenUp, !sender.deferredNodes.contains(ObjectIdentifier(node))
      else { return nil }
      children.append(Child(priority: priority.map(Scheduling.priority), body: body))
      return unsafe readyWaiters()
    }
    guard let ready = unsafe ready else { return false }
    unsafe Scheduling.resume(ready)
    return true
  }
}
