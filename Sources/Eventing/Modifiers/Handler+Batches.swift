// A batch is a call whose payload is an array of payloads.

extension Handler {
  /// Creates a handler that takes several payloads in one call.
  ///
  ///     orders.add(Handler(batchesOf: 100, within: .milliseconds(50)) { batch in
  ///       try await database.insert(batch)
  ///     })
  ///
  /// A call gets all payloads that wait, in order, at least one and at most `count`. With `within`,
  /// the call is not made before there are `count` payloads, or the first one has waited for that
  /// time.
  ///
  /// The call counts for each of its occurrences: all are delivered, or all fail with the one
  /// error. A ``Event/send(_:from:)`` waits for its batch. A ``Handler/once()`` handler takes one
  /// batch. ``HandlerRegistry/quiesce()`` and ``HandlerRegistry/finish()`` end the waiting for
  /// further payloads.
  ///
  /// If the delivery has a bound, a full lane makes a batch at once.
  ///
  /// Carried task-local values (``EventContext``) are not bound: a batch has several senders.
  ///
  /// - Parameters:
  ///   - count: The largest number of payloads in a call. A number below 1 counts as 1.
  ///   - limit: How long a batch waits for further payloads after its first one; `nil` if it does
  ///     not wait.
  ///   - delivery: Where the handler runs. ``AsyncDelivery/task`` is refused in a debug build;
  ///     otherwise the calls are concurrent. ``AsyncDelivery/restarting`` is refused in a debug
  ///     build; otherwise the calls are in order.
  ///   - clock: The clock that measures `limit`.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with each batch.
  public init(
    batchesOf count: Int, within limit: Duration? = nil, on delivery: AsyncDelivery = .inOrder,
    clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable ([Payload]) async throws -> Void
  ) {
    var place = delivery.place
    switch place {
    case .task:
      assertionFailure("expected a lane for batches, got the delivery task: what waits there makes a batch")
      place = .concurrent(.max, .unbounded)
    case .restarting:
      assertionFailure("expected a lane for batches, got the delivery restarting: what waits there makes a batch")
      place = .inOrder(nil, .unbounded)
    default: break
    }
    self.init(place, .directAsync(AsyncHandlerClosure<[Payload]>(body).erased), SourceLine(fileID, line))
    addBatches(of: count, within: limit, clock)
  }

  /// Creates a handler that takes several payloads in one call on the main actor: see
  /// ``init(batchesOf:within:on:clock:fileID:line:_:)-(_,_,AsyncDelivery,_,_,_,_)``.
  ///
  /// Even if the event delivers on the main queue, no call is made during the delivery. A call
  /// begins in a later block of the main queue, and takes the payloads that wait by then.
  public init(
    batchesOf count: Int, within limit: Duration? = nil, on delivery: MainDelivery,
    clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable ([Payload]) throws -> Void
  ) {
    let body = RuntimeSPI.withoutMainActor(body)
    self.init(delivery.place, .direct(HandlerClosure<[Payload]>(body).erased), SourceLine(fileID, line))
    addBatches(of: count, within: limit, clock)
  }

  /// Creates an asynchronous handler that takes several payloads in one call on the main actor: see
  /// ``init(batchesOf:within:on:clock:fileID:line:_:)-(_,_,AsyncDelivery,_,_,_,_)``.
  public init(
    batchesOf count: Int, within limit: Duration? = nil, on delivery: MainDelivery,
    clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable ([Payload]) async throws -> Void
  ) {
    self.init(delivery.place, .mainAsync { try await body($0.payload.payload()) }, SourceLine(fileID, line))
    addBatches(of: count, within: limit, clock)
  }

  /// Creates a handler that takes several payloads in one call isolated to an actor: see
  /// ``init(batchesOf:within:on:clock:fileID:line:_:)-(_,_,AsyncDelivery,_,_,_,_)`` and
  /// ``init(isolatedTo:fileID:line:_:)``.
  public init<Isolation: Actor>(
    batchesOf count: Int, within limit: Duration? = nil, isolatedTo actor: Isolation,
    clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (isolated Isolation, [Payload]) async throws -> Void
  ) {
    self.init(isolating: actor, SourceLine(fileID, line)) { try await body($0, $1.payload.payload()) }
    addBatches(of: count, within: limit, clock)
  }

  private mutating func addBatches(of count: Int, within limit: Duration?, _ clock: any Clock<Duration>) {
    options.modifiers.batch = BatchRule(
      count: max(1, count), within: limit.map { max(.zero, $0) }, clock: clock,
      make: { queue in OwnedPayload(queue.takeAllPayloads(Payload.self)) },
      forEach: { batch, body in
        for payload in batch.payload([Payload].self) { lend(payload) { body($0) } }
      })
  }
}

/// How payloads become batches.
final class BatchRule: Sendable {
  /// The largest number of payloads in a batch.
  let count: Int
  /// The time for which a batch waits for further payloads after its first one; `nil` if the batch
  /// does not wait.
  let within: Duration?
  let clock: any Clock<Duration>
  /// Moves the payloads of a queue into an array, and returns the array as one payload.
  let make: @Sendable (inout PayloadQueue<Item>) -> OwnedPayload
  /// Lends each payload of an array to a closure.
  let forEach: @Sendable (BorrowedPayload, (BorrowedPayload) -> Void) -> Void

  init(
    count: Int, within: Duration?, clock: any Clock<Duration>,
    make: @escaping @Sendable (inout PayloadQueue<Item>) -> OwnedPayload,
    forEach: @escaping @Sendable (BorrowedPayload, (BorrowedPayload) -> Void) -> Void
  ) {
    (self.count, self.within, self.clock) = (count, within, clock)
    (self.make, self.forEach) = (make, forEach)
  }
}
