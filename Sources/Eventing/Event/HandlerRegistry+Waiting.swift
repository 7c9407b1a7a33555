extension HandlerRegistry {
  /// Waits until no call for an occurrence sent before is running or queued, on any lane.
  ///
  /// Calls of handlers that have been removed count, too. Occurrences that a lock holds do not, nor
  /// do calls that wait on a lane which such a lock has paused, nor loops over
  /// ``EventSource/payloads(named:buffering:)``.
  ///
  /// `quiesce` covers this event only. What this event forwarded has entered the target, or is
  /// queued there, but its handlers may still be running: call `quiesce()` of the target next.
  /// ``Event/send(_:from:)`` waits for the handlers of targets, too. For a bus, this waits for one
  /// event after the other, and not for events that are made meanwhile.
  ///
  /// The handlers of ``Event/deadLetters`` count, too, for letters about occurrences sent before.
  /// For an ``Observed`` value, so do the handlers of ``Observed/combineLatest(_:)`` with this
  /// value.
  ///
  /// **Inside a handler,** `quiesce` waits neither for that handler nor for a handler that waits
  /// for it. Cancellation of the task does not shorten the wait, as it does that of
  /// ``quiesce(within:clock:)``.
  ///
  /// - Complexity: O(handlers), however many other waits the calling handler has.
  public nonisolated(nonsending) func quiesce() async {
    _ = await handlerTable.quiesce(orUntilCancelled: false)
  }

  /// Waits like ``quiesce()``, but no longer than a limit.
  ///
  ///     if await !orders.quiesce(within: .seconds(5)) { print("a handler still runs") }
  ///
  /// Calls that still run at the limit go on. If the task is cancelled, this returns at once.
  ///
  /// - Parameters:
  ///   - limit: The longest time to wait. More than a hundred years means for ever.
  ///   - clock: The clock that measures the limit.
  /// - Returns: Whether all calls have ended. With a limit of zero, and in a task that is
  ///   cancelled, whether the event was idle: no thread was in it, not even one that just leaves.
  /// - Complexity: As for ``quiesce()``.
  @discardableResult public nonisolated(nonsending) func quiesce(
    within limit: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) async -> Bool {
    let table = handlerTable
    return await Sleeping.result(within: limit, on: clock) { await table.quiesce(orUntilCancelled: true) }
  }

  /// Ends the event: delivers everything sent before, then releases the handlers.
  ///
  /// Sends after this reach no handler. Handlers that are added after this end at once. A handler
  /// on a lane ends after the calls that are queued there. Sequences end, and a task that waits in
  /// ``EventSource/next(within:clock:where:)`` gets an ``EventingError``. Use this for an event
  /// that is never released, such as a `static` one.
  ///
  /// A remote event or question also stops to listen, and can no longer publish or ask. A bus ends
  /// its events in the order in which they were made, and its handlers of all events, and forgets
  /// them: it can still be used, and then makes new events.
  ///
  /// **Concurrency.** Callable from any thread or task. It does not wait for handlers:
  /// ``quiesce()`` does. Further calls have no effect.
  ///
  /// **Inside a handler,** the current occurrence still reaches every handler.
  ///
  /// - Complexity: O(handlers). For a bus, also O(*n* log *n*) for its *n* events.
  public nonisolated func finish() {
    let table = handlerTable
    if case .bus(let bus) = table.content { return bus.finishAll() }
    table.forEach { $0.finish() }
  }

  /// Whether ``finish()`` was called. Handlers may still be running: ``quiesce()`` waits for them.
  ///
  /// For a bus: whether it has events, and all of them have ended.
  ///
  /// - Complexity: O(1), for a bus O(*n* log *n*) for its *n* events.
  public nonisolated var isFinished: Bool {
    handlerTable.allSatisfy { core in core.mutex.withLock { unsafe core.isFinished } }
  }
}

extension HandlerTable {
  func allSatisfy(_ condition: (EventCore) -> Bool) -> Bool {
    var (count, isTrue) = (0, true)
    forEach { core in
      count += 1
      isTrue = isTrue && condition(core)
    }
    return count > 0 && isTrue
  }

  func quiesce(orUntilCancelled: Bool) async -> Bool {
    for event in events where await !event.core.quiesce(orUntilCancelled: orUntilCancelled) { return false }
    guard case .event(let core, .observed) = content else { return true }
    for combination in core.value?.combinations ?? []
    where await !combination.core.quiesce(orUntilCancelled: orUntilCancelled) { return false }
    return true
  }
}

extension EventCore {
  /// Also waits for the handlers of ``Event/deadLetters``.
  nonisolated(nonsending) func quiesce(orUntilCancelled: Bool) async -> Bool {
    let completion = Completion(.ticket)
    noteWait(.quiesce, completion)
    enqueue(.barrier(completion))
    if orUntilCancelled {
      guard await completion.waitUnlessCancelled() else { return false }
    } else {
      _ = await completion.wait()
    }
    return await anchorReference.load()?.deadLetters?.core.quiesce(orUntilCancelled: orUntilCancelled) ?? true
  }
}
