extension EventSource {
  /// Waits for the next payload that satisfies a condition.
  ///
  ///     let half = try await progress.next(within: .seconds(2)) { fraction in fraction >= 0.5 }
  ///
  /// The call receives every payload sent after it began. By the time it returns, its handler has
  /// been removed from the event. It retains the source until then.
  ///
  /// - On an event with replay (``EventReplay``), the past payloads that a new handler receives
  ///   come first. On an ``Observed``, the current value comes first; use ``Observed/newValues`` to
  ///   wait for the next one.
  /// - Inside a handler of the event, `next` receives payloads that are delivered after it was
  ///   called. A task that awaits that handler before sending such a payload waits forever.
  /// - A child task (`async let`) begins to receive payloads only once it runs. If no payload may
  ///   be missed, create a sequence first: see ``payloads(named:buffering:)``.
  /// - If the task is cancelled before or during the call, the call throws at once.
  ///
  /// - Parameters:
  ///   - limit: The longest time to wait. `nil`, or more than a hundred years, means forever.
  ///   - clock: The clock that measures the limit.
  ///   - isIncluded: The condition. It's evaluated in the order of the event, with no mutex held,
  ///     and not on the sending thread.
  /// - Returns: The first payload that satisfies the condition.
  /// - Throws: An ``EventingError`` if no such payload came in time (``EventingError/timedOut``),
  ///   or if the event was finished or all its handlers were removed
  ///   (``EventingError/eventEnded``). `CancellationError` if the task is cancelled. Any error that
  ///   `isIncluded` throws.
  /// - Complexity: O(1) for each payload sent during the call.
  public nonisolated(nonsending) func next(
    within limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock(),
    where isIncluded: @escaping @Sendable (Payload) throws -> Bool = { _ in true }
  ) async throws -> Payload {
    let payloads = PayloadSequence(of: self, .unbounded)
    defer { withExtendedLifetime((self, payloads)) {} }
    // Safe: one task uses the reader at a time. This task waits for the group's.
    nonisolated(unsafe) let reader = SequenceIterator(payloads.hub)
    guard let limit, !limit.isForever else { return try await unsafe reader.first(where: isIncluded).handled() }
    // A payload that is already waiting, such as a past one, comes before any limit, even a limit
    // of zero.
    if let found = unsafe try reader.firstNow(where: isIncluded) { return found.handled() }
    return try await withThrowingTaskGroup(of: Found<Payload>.self) { group in
      group.addTask { try await unsafe reader.first(where: isIncluded) }
      group.addTask {
        try await Sleeping.sleep(for: limit, on: clock)
        throw EventingError(.timedOut, "expected a payload of \(Payload.self) within \(limit); none came that fits")
      }
      defer { group.cancelAll() }
      guard let found = try await group.next() else { preconditionFailure("two tasks are in the group") }
      return found.handled()
    }
  }
}

private struct Found<Payload: Sendable>: Sendable {
  let payload: Payload
  /// If the time limit ends first, these are released without `handled()`.
  let marks: [any OccurrenceMark]

  func handled() -> Payload {
    for mark in marks { mark.handled() }
    return payload
  }
}

extension SequenceIterator {
  fileprivate func firstNow<Payload: Sendable>(where isIncluded: @Sendable (Payload) throws -> Bool) throws
    -> Found<Payload>?
  {
    guard !Task.isCancelled else { return nil }
    while let payload = nextNow(Payload.self) {
      if try isIncluded(payload) { return Found(payload: payload, marks: takeMarks()) }
    }
    return nil
  }

  fileprivate nonisolated(nonsending) func first<Payload: Sendable>(
    where isIncluded: @Sendable (Payload) throws -> Bool
  ) async throws
    -> Found<Payload>
  {
    let anchor = Instruments.areOn ? hub.mutex.withLock { unsafe hub.token }?.anchor : nil
    let wait = anchor.map { Instruments.began(.next, at: $0) }
    defer { wait?.end() }
    while let payload = await next(Payload.self, isolation: #isolation) {
      if try isIncluded(payload) { return Found(payload: payload, marks: takeMarks()) }
    }
    if Task.isCancelled { throw CancellationError() }
    throw EventingError(
      .eventEnded, "expected a payload of \(Payload.self); the event was finished, or all its handlers were removed")
  }
}
