extension Handler {
  /// Returns a copy that is called again when it throws.
  ///
  ///     orders.add(Handler { order in try await bill(order) }
  ///       .retrying(.exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5)))
  ///
  /// All attempts are one call: a ``Event/send(_:from:)`` waits for the last attempt, its report
  /// counts the handler once, and ``HandlerFailure/attempts`` says how many there were. Observers
  /// see each attempt.
  ///
  /// **Order.** In order or on a shared lane, later occurrences wait until the attempts have ended.
  /// With ``AsyncDelivery/concurrent(limit:buffering:)``, other calls go on meanwhile. No thread
  /// waits during a delay. An inline handler is called again at once, without a delay.
  ///
  /// **The end.** If the handler is removed or locked between two attempts, no other attempt
  /// follows, and the outcome is the last error. A lock that holds occurrences keeps the call and
  /// the number of its attempts until the lock ends. ``HandlerRegistry/finish()`` ends a delay, and
  /// one last attempt follows. The loss of an owner is found at the end of the delay, or by the
  /// next occurrence.
  ///
  /// A `CancellationError` of a task that was cancelled is not tried again. Cancelling the task
  /// that sends does not end a delay, except for handlers on ``AsyncDelivery/task``, whose calls
  /// are its child tasks.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts, and the delays.
  ///   - isRetried: Whether an error is worth another attempt. Called where the handler runs.
  ///   - clock: The clock that measures the delays.
  public func retrying(
    _ policy: RetryPolicy, if isRetried: @escaping @Sendable (any Error) -> Bool = { _ in true },
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Handler {
    modified { $0.retry = RetryRule(policy: policy, isRetried: isRetried, clock: clock) }
  }

  /// Returns a copy whose attempts are cancelled after a time limit.
  ///
  /// The task of the attempt is cancelled, and the attempt fails with an ``EventingError`` of the
  /// code ``EventingError/Code/timedOut``, whatever it returns or throws. The next call of an
  /// in-order handler, and a ``Event/send(_:from:)`` that waits, go on when the attempt has
  /// returned. Such a failure is tried again as any other: see ``retrying(_:if:clock:)``.
  ///
  /// A synchronous handler cannot be ended: for it, the modifier does nothing, and a debug build
  /// says so.
  ///
  /// - Parameters:
  ///   - limit: The longest duration of an attempt.
  ///   - clock: The clock that measures it.
  public func timingOut(after limit: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Handler {
    if any.body.isSynchronous { return warned("timingOut(after:) does nothing: a synchronous handler cannot be ended") }
    return modified { $0.timeLimit = TimeLimit(duration: max(.zero, limit), clock: clock) }
  }

  /// Returns a copy whose running call is cancelled by a new occurrence.
  ///
  /// The next call begins when the cancelled one has returned. Only the newest occurrence waits.
  /// Occurrences that were replaced, or whose call was cancelled, count as dropped, whatever the
  /// call returned. In a snapshot, a cancelled call counts as a call and as dropped. A new
  /// occurrence also ends the delay before another attempt. Removing the handler and
  /// ``HandlerRegistry/finish()`` cancel no call that runs.
  ///
  /// A synchronous handler cannot be cancelled: for it, only the newest occurrence waits. Calls for
  /// different keys of ``inOrder(by:)`` cancel one another, too.
  ///
  /// A handler of batches does not restart, because all that waits makes a batch. For it, the
  /// modifier is refused in a debug build, and otherwise changes nothing.
  public func restarting() -> Handler {
    if options.modifiers.batch != nil {
      assertionFailure(
        "expected restarting() on a handler of single payloads, got a handler of batches: what waits makes a batch")
      return self
    }
    var copy = any.body.isSynchronous ? self : modified { $0.isRestarting = true }
    copy.any.place = any.place.buffered(.latest)
    return copy
  }

  func modified(_ change: (inout HandlerModifiers) -> Void) -> Handler {
    var copy = self
    change(&copy.any.options.modifiers)
    return copy
  }

  /// Returns the handler as it is, and in a debug build writes a warning.
  func warned(_ text: String) -> Handler {
    #if DEBUG
      Warning.tell("\(self): \(text)")
    #endif
    return self
  }
}
