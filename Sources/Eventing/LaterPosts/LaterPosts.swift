/// A doubly linked list, so that adding and removing are O(1). Guarded by: core.mutex.
struct LaterPosts {
  private var first: LaterItem?
  private var last: LaterItem?

  mutating func append(_ item: LaterItem) {
    unsafe item.previous = last
    if let last { unsafe last.next = item } else { first = item }
    last = item
  }

  mutating func end(_ item: LaterItem, _ stage: LaterItem.Stage) -> Bool {
    guard item.end(stage) else { return false }
    let (previous, next) = unsafe (item.previous, item.next)
    unsafe (item.previous, item.next) = (nil, nil)
    if let previous { unsafe previous.next = next } else { first = next }
    if let next { unsafe next.previous = previous } else { last = previous }
    return true
  }

  mutating func cancelFirst() -> LaterItem? {
    guard let item = first else { return nil }
    precondition(end(item, .cancelled), "an item in the list waits")
    return item
  }
}

extension EventCore {
  func insert(_ item: LaterItem) -> Bool {
    let pendingWork = pendingWork
    return mutex.withLock {
      if unsafe isFinished { return !item.end(.cancelled) }
      unsafe pendingWork.laterPosts.append(item)
      return true
    }
  }

  func removeLaterPost(_ item: LaterItem) -> Bool {
    let pendingWork = pendingWork
    return mutex.withLock { unsafe pendingWork.laterPosts.end(item, .cancelled) }
  }

  /// One at a time, so that the mutex is never held for long.
  func cancelLaterPosts() {
    guard let pendingWork = pendingWorkReference.load() else { return }
    while let item = mutex.withLock({ unsafe pendingWork.laterPosts.cancelFirst() }) { item.clear() }
  }

  /// Called on the timer's thread, which must not release `replaced`.
  func postFromTimer(_ item: LaterItem, _ replaced: inout OwnedPayload?) {
    enqueueForQueue { pendingWork in
      guard unsafe pendingWork.laterPosts.end(item, .posted) else { return }
      unsafe replaced = item.append(to: &pendingWork.mailbox, pendingWork.history)
    }
  }
}
