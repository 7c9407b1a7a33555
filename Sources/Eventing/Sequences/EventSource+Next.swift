extension EventSource {
  /// Waits for the next payload that fits.
  ///
  ///     let half = try await progress.next(within: .seconds(2)) { fraction in fraction >= 0.5 }
  ///
  /// It listens from the moment of the call, and has left the event when it returns. It keeps what it listens to alive for that long.
  ///
  /// - Of an event with a history it is the first of what a newcomer is told: see ``Replay``.
  /// - In a handler of that very event it is one that is delivered after the call of `next`: whoever awaits that handler before sending it waits for ever.
  /// - A task that is started to await it (`async let`) listens only when it runs; take a sequence if nothing may be missed.
  /// - In a task that is cancelled, before or meanwhile, it throws `CancellationError` at once.
  /// - Complexity: O(1) for each payload that comes by.
  /// - Parameters:
  ///   - limit: how long to wait; `nil` for ever, and so is more than a hundred years.
  ///   - clock: what measures that.
  ///   - isIncluded: whether a payload fits; asked in the order of the event, where no lock is held, not on the thread that sends.
  /// - Throws: ``EventingError`` if nothing came in time or the event was finished; what `isIncluded` throws.
  public nonisolated(nonsending) func next(
    within limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock(),
    where isIncluded: @escaping @Sendable (Payload) throws -> Bool = { _ in true }
  ) async throws -> Payload {
    let hub = SequenceHub(.unbounded, Payload.self)
    hub.listen(to: self)
    defer { withExtendedLifetime(self) {} }
    guard let limit, !limit.isForever else { return try await hub.first(where: isIncluded) }
    return try await withThrowingTaskGroup(of: Payload.self) { group in
      group.addTask { try await hub.first(where: isIncluded) }
      group.addTask {
        try await clock.sleep(for: limit)
        throw EventingError(
          code: .timedOut, description: "expected a payload of \(Payload.self) within \(limit); none came that fits")
      }
      defer { group.cancelAll() }
      guard let payload = try await group.next() else { preconditionFailure("two tasks are in the group") }
      return payload
    }
  }
}

extension SequenceHub {
  /// The first payload that fits.
  fileprivate nonisolated(nonsending) func first<Payload: Sendable>(
    where isIncluded: @Sendable (Payload) throws -> Bool
  ) async throws
    -> Payload
  {
    let reader = SequenceReader(self)
    while let payload = await reader.next(Payload.self, isolation: #isolation) {
      if try isIncluded(payload) { return payload }
    }
    if Task.isCancelled { throw CancellationError() }
    throw EventingError(
      code: .eventEnded,
      description: "expected a payload of \(Payload.self); the event was finished, or all its handlers were removed")
  }
}
