/// A place to send values through, from any thread or task, to handlers that run where they need to run.
///
///     let progress = Event<Double>()
///     progress.addHandler { fraction in print(fraction) }                             // right here
///     progress.addHandler(on: .main) { fraction in view.fraction = fraction }         // on the main actor
///     progress.addHandler { fraction in try await store.save(fraction) }              // asynchronously, in order
///     progress.post(0.5)                                                              // does not wait
///     await progress.send(1)                                                          // every handler has finished
///
/// An event delivers one occurrence at a time, in the order of its sequence numbers, and every in-order handler sees that order, however many
/// threads send. Adding a handler is effective when it returns, and so are removing and locking.
///
/// Adding, removing, locking, `post` and `submit` need no `await`, and none of them waits for a handler on another thread: what cannot be done at once,
/// because the event is busy, is queued, in order. (In a flood, of posts or of changes, those who make it nap for some microseconds.) What answers later is awaited: `send`,
/// `quiesce`, a ticket's report, `handlers`. A handler may call anything of any event, its own included.
///
/// An event lives as long as somebody holds it; what was sent is still delivered when it goes.
public final actor Event<Payload: Sendable> {
  /// For logs, occurrences and snapshots.
  public nonisolated let name: String?

  /// The event's executor, and all it has: to be isolated to the event is to be between two occurrences.
  @usableFromInline nonisolated let core: EventCore

  /// The core.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe core.asUnownedSerialExecutor() }

  /// An event without handlers.
  ///
  /// - Parameters:
  ///   - name: for logs, occurrences and snapshots.
  ///   - policy: what happens when a handler throws.
  public init(_ name: String? = nil, onFailure policy: FailurePolicy = .collect) {
    self.name = name
    core = EventCore(Payload.self)
    if policy != .collect { _ = core.identity.failures(policy) }
    NewEvents.tell(core, name)
  }
}

/// An event that carries nothing.
public typealias Signal = Event<Void>

extension Event {
  /// Sends without waiting.
  ///
  /// If the event is idle, its inline handlers have been called when this returns, on the calling thread, and its other handlers have it on
  /// their lanes. If it is busy, and stays so for about a microsecond, the occurrence is queued and delivered in its turn, by the thread that is delivering or on the event's own queue.
  ///
  /// - From a handler of the same event: delivered after the current occurrence has reached every handler.
  /// - In the `deinit` of an Objective-C object leave `sender` out: no weak reference can be made to what is going.
  /// - In a flood, with more than 1,024 occurrences queued, it returns a short fixed time later.
  /// - Complexity: O(handlers). No allocation where all handlers are inline and the event is idle.
  @inlinable public nonisolated func post(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) {
    let own = core.enter()
    guard own != 0 else {
      return unsafe withUnsafePointer(to: payload) { unsafe core.postBusy(BorrowedPayload($0), from: sender) }
    }
    unsafe withUnsafePointer(to: payload) { payload in
      if let position = unsafe core.deliver(BorrowedPayload(payload), isPost: true) {
        unsafe core.postSlowPath(BorrowedPayload(payload), from: position, sender: sender)
      }
    }
    core.leave(own)
  }

  /// Sends, and returns when every handler that the occurrence reached has finished, on every lane.
  ///
  /// - Inside a handler, what waits for that very handler is not waited for: it runs later, and the report counts it as deferred.
  ///   Calls are followed through child tasks and `Task {}`. A handler that waits for this by other means, such as a
  ///   `Task.detached` that it awaits or a semaphore, waits for ever: no task-local value tells that they belong together.
  /// - Cancelling the task does not cut an occurrence in half: `send` waits all the same.
  /// - Complexity: as ``post(_:from:)``; it suspends only if a handler runs elsewhere or the event is busy.
  /// - Returns: what became of it.
  @inlinable @discardableResult
  public nonisolated(nonsending) func send(
    _ payload: Payload, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport {
    let own = core.enter()
    let rest = lend(payload) { payload -> PendingSend? in
      guard own != 0 else { return core.sendBusy(payload, from: sender) }
      guard let position = core.deliver(payload, isPost: false) else { return nil }
      return core.sendSlowPath(payload, from: position, own, sender)
    }
    if let rest { return await rest.wait() }
    let report = unsafe SendReport(sequence: core.sequence, delivered: Int(core.table.count))
    core.leave(own)
    return report
  }

  /// Sends without waiting, as ``post(_:from:)`` does; the ticket's report can be awaited later.
  ///
  /// - Complexity: as ``post(_:from:)``, and one allocation.
  public nonisolated func submit(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) -> Ticket {
    let completion = Completion(.ticket, from: sender)
    let own = core.enter()
    if own != 0 {
      unsafe withUnsafePointer(to: payload) { unsafe core.deliverQueued(BorrowedPayload($0), completion) }
      core.leave(own)
    } else if lend(payload, { core.enqueue($0, completion) }) {
      OverloadControl.slowDown()
    }
    return Ticket(completion: completion)
  }
}
