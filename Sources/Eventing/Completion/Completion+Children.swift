// The calls of `.task` handlers, which the task that awaits the `send` runs as child tasks.
extension Completion {
  /// Adds a call of a `.task` handler to ``children``, and wakes the task that awaits the `send`.
  /// That task, the sender, then runs the call as its child task.
  ///
  /// If the handler is `.inOrder(by:)`, the call may have waited for the end of the earlier calls
  /// with its key. Meanwhile the sender, waiting for the call, may have been suspended, so it has
  /// to be woken.
  ///
  /// - Parameter node: The node of the graph of waits at which the call waited.
  /// - Returns: `false` if the sender does not wait for the call, because that would close a cycle
  ///   of waits, or if the sender does not wait any more. Then the call must not become its child
  ///   task, because a task waits for its children.
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
