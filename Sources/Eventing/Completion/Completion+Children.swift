// The `.task` handlers of a `send`, which its sender runs as child tasks.
extension Completion {
  /// Adds a `.task` handler of a `send`, which the sender runs as a child task.
  @usableFromInline func adopt(priority: UInt8?, _ body: @escaping @Sendable () async -> Void) {
    if let root { return root.adopt(priority: priority, body) }
    withMutex { children.append(Child(priority: priority.map(Scheduling.priority), body: body)) }
  }

  /// Adds a `.task` handler of a `send` after the delivery. Wakes the sender, which runs the
  /// handler as a child task. Returns false if the sender does not wait any more.
  func adoptLate(priority: UInt8?, _ body: @escaping @Sendable () async -> Void) -> Bool {
    if let root { return root.adoptLate(priority: priority, body) }
    let ready = unsafe withMutex { () -> [UnsafeContinuation<Void, Never>]? in
      guard let sender = waiters.first, !sender.hasGivenUp else { return nil }
      children.append(Child(priority: priority.map(Scheduling.priority), body: body))
      return unsafe readyWaiters()
    }
    guard let ready = unsafe ready else { return false }
    unsafe wake(ready)
    return true
  }
}
