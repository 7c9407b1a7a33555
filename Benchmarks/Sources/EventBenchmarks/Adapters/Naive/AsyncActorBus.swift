/// Awaits async handlers on an actor, one after the other or in a task group.
actor AsyncActorBus {
  typealias AsyncBody = @Sendable (Int) async -> Void
  private var handlers: [Int: AsyncBody] = [:]
  private var lastID = 0

  func add(_ body: @escaping AsyncBody) -> Int {
    lastID += 1
    handlers[lastID] = body
    return lastID
  }
  func remove(_ id: Int) { handlers[id] = nil }
  func send(_ value: Int) async { for body in handlers.values { await body(value) } }
  func sendInGroup(_ value: Int) async {
    let bodies = handlers.values
    await withTaskGroup(of: Void.self) { group in
      for body in bodies { group.addTask { await body(value) } }
    }
  }
}
