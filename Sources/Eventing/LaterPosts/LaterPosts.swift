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
    let rareState = rareState
    return mutex.withLock {
      if unsafe isFinished { return !item.end(.cancelled) }
      unsafe rareState.laterPosts.append(item)
      return true
    }
  }

  func removeLaterPost(_ item: LaterItem) -> Bool {
    let rareState = rareState
    return mutex.withLock { unsafe rareState.laterPosts.end(item, .cancelled) }
  }

  /// Cancels one post at a time, so that the mutex is never held for long.
  func cancelLaterPosts() {
    guard let rareState = rareStateReference.load() else { return }
    while let item = mutex.withLock({ unsafe rareState.laterPosts.cancelFirst() }) { item.clear() }
  }
}

extension Event {
  /// Posts a payload at a later time.
  ///
  ///     let reminder = cart.post(.abandoned, after: .seconds(3_600))
  ///     reminder.cancel()
  ///
  /// When the delay is over, the payload is posted like any other: its place in the order, its
  /// handlers and their locks are those of that moment. Inline handlers run on the event's own
  /// queue. Posts due at the same instant are made in the order in which they were scheduled.
  ///
  /// The post doesn't keep the event alive. When the event ends, through
  /// ``HandlerRegistry/finish()`` or the release of its last reference, the post is cancelled and
  /// its payload released. ``HandlerRegistry/quiesce()`` doesn't wait for the post. Propagated
  /// task-local values are those of the caller.
  ///
  /// One timer serves all scheduled posts of a clock in the process and isn't set again once
  /// nothing waits for it. Clocks are told apart by identity if they are objects and by `==` if
  /// they are values. A value that has stored properties but no `==` counts as a different clock
  /// each time. If a sleep of the clock fails, the posts waiting for that instant are made
  /// immediately.
  ///
  /// - Parameters:
  ///   - payload: The value that the handlers receive.
  ///   - delay: The time to wait. A delay of more than a hundred years never ends; a negative delay
  ///     counts as zero.
  ///   - clock: The clock that measures the delay. In a simulation of EventingTesting, the
  ///     simulation's clock takes the place of the clocks of the standard library.
  ///   - sender: The sending object, which is held weakly.
  /// - Returns: A value that can cancel the post.
  /// - Complexity: O(log n) for n scheduled posts on the clock.
  @discardableResult public nonisolated func post(
    _ payload: Payload, after delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    from sender: (any AnyObject & Sendable)? = nil
  ) -> ScheduledPost {
    let queue = TimerQueues.of(clock, for: core.anchor)
    let item = LaterItem(OwnedPayload(payload), for: core, in: queue, from: sender)
    // Once this first `insert` has added the item to the event's list, the end of the event may
    // cancel it. `queue.insert` below ignores a cancelled item.
    if !core.insert(item) {
      item.clear()
    } else if !delay.isForever {
      queue.insert(item, after: max(.zero, delay))
    }
    return ScheduledPost(item: item)
  }
}

extension Event where Payload == Void {
  /// Posts at a later time: see ``post(_:after:clock:from:)``.
  @discardableResult public nonisolated func post(
    after delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    from sender: (any AnyObject & Sendable)? = nil
  ) -> ScheduledPost {
    post((), after: delay, clock: clock, from: sender)
  }
}

extension KeyedEvent {
  /// Posts a payload to a key at a later time: see ``Event/post(_:after:clock:from:)``.
  @discardableResult public func post(
    _ payload: Payload, to key: Key, after delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    from sender: (any AnyObject & Sendable)? = nil
  ) -> ScheduledPost {
    event.post(KeyedPayload(key, payload), after: delay, clock: clock, from: sender)
  }
}

extension KeyedEvent where Key == ObjectKey {
  /// Posts a payload to an object at a later time: see ``Event/post(_:after:clock:from:)``.
  @discardableResult public func post(
    _ payload: Payload, to object: some AnyObject & Sendable, after delay: Duration,
    clock: any Clock<Duration> = ContinuousClock(), from sender: (any AnyObject & Sendable)? = nil
  ) -> ScheduledPost {
    post(payload, to: ObjectKey(object), after: delay, clock: clock, from: sender)
  }
}
