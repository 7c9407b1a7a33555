/// The later posts of one event, in the order in which they were asked for.
///
/// A doubly linked list of the items: adding and removing an item cost O(1) under the mutex of the
/// event, however many items there are. Guarded by: core.mutex.
struct LaterPosts {
  private var first: LaterItem?
  private var last: LaterItem?

  mutating func append(_ item: LaterItem) {
    unsafe item.previous = last
    if let last { unsafe last.next = item } else { first = item }
    last = item
  }

  /// Ends the waiting of an item, and removes it. Returns false if the waiting was over.
  mutating func end(_ item: LaterItem, _ stage: LaterItem.Stage) -> Bool {
    guard item.end(stage) else { return false }
    let (previous, next) = unsafe (item.previous, item.next)
    unsafe (item.previous, item.next) = (nil, nil)
    if let previous { unsafe previous.next = next } else { first = next }
    if let next { unsafe next.previous = previous } else { last = previous }
    return true
  }

  /// Cancels, removes and returns the first item.
  mutating func cancelFirst() -> LaterItem? {
    guard let item = first else { return nil }
    precondition(end(item, .cancelled), "an item in the list waits")
    return item
  }
}

extension EventCore {
  /// Keeps a later post until its time. If the event is finished, cancels the post instead, and
  /// returns false.
  func insert(_ item: LaterItem) -> Bool {
    let pendingWork = pendingWork
    return mutex.withLock {
      if unsafe isFinished { return !item.end(.cancelled) }
      unsafe pendingWork.laterPosts.append(item)
      return true
    }
  }

  /// Cancels a later post. Returns false if it was posted or cancelled before.
  func removeLaterPost(_ item: LaterItem) -> Bool {
    let pendingWork = pendingWork
    return mutex.withLock { unsafe pendingWork.laterPosts.end(item, .cancelled) }
  }

  /// Cancels all later posts, because the event ends.
  ///
  /// One at a time, so that the mutex is never held for long.
  func cancelLaterPosts() {
    guard let pendingWork = pendingWorkReference.load() else { return }
    while let item = mutex.withLock({ unsafe pendingWork.laterPosts.cancelFirst() }) { item.clear() }
  }

  /// Enqueues the occurrence of a later post, unless the post was cancelled. Called on the timer's
  /// thread.
  ///
  /// - Parameter replaced: Set to the payload that the event's history has replaced.
  func postFromTimer(_ item: LaterItem, _ replaced: inout OwnedPayload?) {
    enqueueForQueue { pendingWork in
      guard unsafe pendingWork.laterPosts.end(item, .posted) else { return }
      unsafe replaced = item.append(to: &pendingWork.mailbox, pendingWork.history)
    }
  }
}
