extension Event {
  /// Posts a payload at a later time.
  ///
  ///     let reminder = cart.post(.abandoned, after: .seconds(3_600))
  ///     reminder.cancel()
  ///
  /// At its time it is a post as any other: order, once handlers and locks are judged then. Inline
  /// handlers run on the event's own queue. Of several posts that are due at one instant, the one
  /// that was asked for first is posted first.
  ///
  /// The event is not kept alive. Its end, ``finish()`` included, cancels the post and releases the
  /// payload. ``quiesce()`` does not wait for it. Carried task-local values are those of the
  /// caller.
  ///
  /// - Parameters:
  ///   - payload: The value that the handlers receive.
  ///   - delay: The time to wait. One of more than a hundred years never ends; one below zero is
  ///     zero.
  ///   - clock: The clock that measures the delay.
  ///   - sender: The object that sends, held weakly.
  /// - Returns: A value that can cancel the post.
  /// - Complexity: O(log n) for n later posts on the clock. A clock of the standard library has one
  ///   timer for the whole process, a clock that is an object one for each event, and another clock
  ///   one for each post.
  @discardableResult public nonisolated func post(
    _ payload: Payload, after delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    from sender: (any AnyObject & Sendable)? = nil
  ) -> LaterPost {
    core.post(OwnedPayload(payload), after: delay, clock, from: sender)
  }

  /// Posts several values at a later time: see ``post(_:after:clock:from:)``.
  @discardableResult public nonisolated func post<First, Second, each Value>(
    _ first: First, _ second: Second, _ value: repeat each Value, after delay: Duration,
    clock: any Clock<Duration> = ContinuousClock(), from sender: (any AnyObject & Sendable)? = nil
  ) -> LaterPost where Payload == (First, Second, repeat each Value) {
    post((first, second, repeat each value), after: delay, clock: clock, from: sender)
  }
}

extension Event where Payload == Void {
  /// Posts at a later time: see ``post(_:after:clock:from:)``.
  @discardableResult public nonisolated func post(
    after delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    from sender: (any AnyObject & Sendable)? = nil
  ) -> LaterPost {
    post((), after: delay, clock: clock, from: sender)
  }
}

extension KeyedEvent {
  /// Posts a payload to a key at a later time: see ``Event/post(_:after:clock:from:)``.
  @discardableResult public func post(
    _ payload: Payload, to key: Key, after delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    from sender: (any AnyObject & Sendable)? = nil
  ) -> LaterPost {
    event.post(KeyedPayload(key, payload), after: delay, clock: clock, from: sender)
  }
}

extension EventBus {
  /// Posts a payload through the event of its type at a later time: see
  /// ``Event/post(_:after:clock:from:)``.
  @discardableResult public func post<Payload: Sendable>(
    _ payload: Payload, after delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    from sender: (any AnyObject & Sendable)? = nil
  ) -> LaterPost {
    event(for: Payload.self).post(payload, after: delay, clock: clock, from: sender)
  }
}

extension EventCore {
  fileprivate func post(
    _ payload: consuming OwnedPayload, after delay: Duration, _ clock: any Clock<Duration>,
    from sender: (any AnyObject & Sendable)?
  ) -> LaterPost {
    let item = LaterItem(payload, for: self, from: sender)
    schedule(item, after: max(.zero, delay), clock)
    return LaterPost(item: item)
  }

  private func schedule<C: Clock<Duration>>(_ item: LaterItem, after delay: Duration, _ clock: C) {
    let queue = queue(of: clock)
    // Before the event has the item, whose end may cancel it at any time from then on.
    unsafe item.queue = queue
    guard insert(item) else { return _ = item.cancel() }
    if !delay.isForever { queue.insert(item, after: delay) }
  }

  private func queue<C: Clock<Duration>>(of clock: C) -> DelayQueue<C> {
    if let shared = DelayQueues.continuous as? DelayQueue<C> { return shared }
    if let shared = DelayQueues.suspending as? DelayQueue<C> { return shared }
    (clock as? any IdleAwareClock)?.meet(EventReference(identity: identity))
    let made = DelayQueue(clock)
    guard C.self is AnyObject.Type else { return made }
    let pendingWork = pendingWork
    return mutex.withLock { unsafe pendingWork.laterPosts.queue(of: clock as AnyObject, made) } as? DelayQueue<C>
      ?? made
  }
}
