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
  /// error. A ``Event/send(_:from:)`` waits for its batch. A once handler takes one batch.
  /// ``HandlerRegistry/quiesce()`` and ``HandlerRegistry/finish()`` end the waiting for further
  /// payloads.
  ///
  /// If the delivery has a bound, a full lane makes a batch at once.
  ///
  /// Propagated task-local values (``EventContext``) are not bound: a batch has several senders.
  ///
  /// - Parameters:
  ///   - options: How the calls are made.
  ///   - count: The largest number of payloads in a call. A number below 1 counts as 1.
  ///   - limit: How long a batch waits for further payloads after its first one; `nil` if it does
  ///     not wait.
  ///   - delivery: Where the handler runs. ``AsyncDelivery/task`` is refused in a debug build;
  ///     otherwise the calls are concurrent.
  ///   - clock: The clock that measures `limit`.
  ///   - fileID: The file where the handler is made, for snapshots and diagnostics.
  ///   - line: The line where the handler is made.
  ///   - body: The closure that is called with each batch.
  public init(
    _ options: HandlerOption<Payload>..., batchesOf count: Int, within limit: Duration? = nil,
    on delivery: AsyncDelivery = .inOrder,
    clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable ([Payload]) async throws -> Void
  ) {
    var place = delivery.place
    if case .task = place {
      assertionFailure("expected a lane for batches, got the delivery task: what waits there makes a batch")
      place = .concurrent(.max, .unbounded)
    }
    self.init(place, HandlerBody(async: body), [], SourceLine(fileID, line))
    addBatches(of: count, within: limit, clock, options)
  }

  /// Creates a handler that takes several payloads in one call on the main actor: see
  /// ``init(_:batchesOf:within:on:clock:fileID:line:perform:)-(_,_,_,AsyncDelivery,_,_,_,_)``.
  ///
  /// Even if the event delivers on the main queue, no call is made during the delivery. A call
  /// begins in a later block of the main queue, and takes the payloads that wait by then.
  public init(
    _ options: HandlerOption<Payload>..., batchesOf count: Int, within limit: Duration? = nil,
    on delivery: MainDelivery,
    clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable ([Payload]) throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(main: body), [], SourceLine(fileID, line))
    addBatches(of: count, within: limit, clock, options)
  }

  /// Creates an asynchronous handler that takes several payloads in one call on the main actor: see
  /// ``init(_:batchesOf:within:on:clock:fileID:line:perform:)-(_,_,_,AsyncDelivery,_,_,_,_)``.
  public init(
    _ options: HandlerOption<Payload>..., batchesOf count: Int, within limit: Duration? = nil,
    on delivery: MainDelivery,
    clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor @Sendable ([Payload]) async throws -> Void
  ) {
    self.init(delivery.place, HandlerBody(mainAsync: body), [], SourceLine(fileID, line))
    addBatches(of: count, within: limit, clock, options)
  }

  /// Creates a handler that takes several payloads in one call isolated to an actor: see
  /// ``init(_:batchesOf:within:on:clock:fileID:line:perform:)-(_,_,_,AsyncDelivery,_,_,_,_)`` and
  /// ``init(_:isolatedTo:fileID:line:perform:)``.
  public init<Isolation: Actor>(
    _ options: HandlerOption<Payload>..., batchesOf count: Int, within limit: Duration? = nil,
    isolatedTo actor: Isolation,
    clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (isolated Isolation, [Payload]) async throws -> Void
  ) {
    self.init(.actor(.unbounded), HandlerBody(isolated: body), [], SourceLine(fileID, line))
    self.options.owner = Owner(isolating: actor)
    self.options.isOwnerBound = true
    addBatches(of: count, within: limit, clock, options)
  }

  private mutating func addBatches(
    of count: Int, within limit: Duration?, _ clock: any Clock<Duration>, _ options: [HandlerOption<Payload>]
  ) {
    self.options.modifiers.batch = BatchRule(
      count: max(1, count), within: limit.map { max(.zero, $0) }, clock: clock,
      make: { queue in OwnedPayload(queue.takeAllPayloads(Payload.self)) },
      forEach: { batch, body in
        for payload in batch.payload([Payload].self) { lend(payload) { body($0) } }
      })
    any.apply(options.map(\.setting))
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
