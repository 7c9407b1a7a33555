/// Calls synchronous handlers on an actor.
actor SyncActorBus {
  private var handlers: [Int: Body] = [:]
  private var onces: Set<Int> = []
  private var lastID = 0

  func add(_ body: @escaping Body) -> Int {
    lastID += 1
    handlers[lastID] = body
    return lastID
  }
  func once(_ body: @escaping Body) { onces.insert(add(body)) }
  func remove(_ id: Int) { handlers[id] = nil }
  func send(_ value: Int) {
    for (id, body) in handlers {
      if !onces.isEmpty, onces.remove(id) != nil { handlers[id] = nil }
      body(value)
    }
  }
}
