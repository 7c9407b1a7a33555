/// A typed event: any thread or task can send payloads, and every handler receives them.
///
///     let progress = Event<Double>()
///     progress.addHandler { fraction in print(fraction) }                      // inline
///     progress.addHandler(on: .main) { fraction in view.fraction = fraction }  // main actor
///     progress.addHandler { fraction in try await store.save(fraction) }       // async, in order
///     progress.post(0.5)                                                       // does not wait
///     await progress.send(1)                                                   // awaits handlers
///
/// Each handler runs where you chose when you added it: inline, on the main actor, on a dispatch
/// queue, isolated to an actor, or as an asynchronous task.
///
/// **Order.** An event delivers one occurrence at a time, in the order of its sequence numbers.
/// Every in-order handler sees that order, no matter how many threads send. Two sends by the same
/// thread or task are delivered in the order in which they were made. For each occurrence, handlers
/// of higher priority are called first; handlers of equal priority are called in the order in which
/// they were added.
///
/// **Concurrency.** Adding, removing or locking a handler takes effect before the call returns.
/// These calls, ``post(_:from:)`` and ``submit(_:from:)`` need no `await` and never wait for a
/// handler on another thread. If the event is busy, they enqueue their work, and if too much work
/// is queued, the caller also sleeps for some microseconds. Only operations that take time are
/// awaited: ``send(_:from:)``, ``HandlerRegistry/quiesce()``, ``SendTicket/report`` and
/// ``HandlerRegistry/handlers(where:)``.
///
/// **Inside a handler.** A handler may call any method of any event, including its own event.
///
/// **Lifetime.** An event lives as long as there is a strong reference to it. Once the last one is
/// gone, the event still delivers everything sent before and then releases its handlers.
/// ``HandlerRegistry/finish()`` ends an event explicitly.
public final actor Event<Payload: Sendable> {
  @usableFromInline nonisolated var name: String? { core.name }

  @usableFromInline nonisolated let core: EventCore

  /// The event's own serial executor, which runs isolated code between two occurrences.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe core.asUnownedSerialExecutor() }

  /// Creates an event without handlers.
  ///
  ///     let volume = Event("volume", replaying: .current(0.5))
  ///     volume.addHandler { volume in show(volume) }   // 0.5, at once if the event is idle
  ///
  /// Replay adds a short critical section to each send, and adding a handler costs O(payloads
  /// replayed).
  ///
  /// - Parameters:
  ///   - name: The name in logs, occurrences and snapshots.
  ///   - replay: The past payloads that new handlers, sequences and forwards receive.
  ///   - policy: How to treat handlers that throw. By default, their errors are only collected.
  public init(
    _ name: String? = nil, replaying replay: EventReplay<Payload> = .none, onFailure policy: FailurePolicy = .collect
  ) {
    core = EventCore(Payload.self, name)
    if policy != .collect { _ = core.anchor.failures(policy) }
    if let history = ReplayHistory(replay) {
      if policy == .skipLaterHandlers { unsafe history.mayChange = true }
      core.keep(history)
    }
    NewEvents.tell(core)
  }

  /// Doesn't notify observers. A bus calls ``tellObservers()`` later, unless it discards the event;
  /// the library's own events stay hidden from observers.
  package init(untold name: String?) {
    core = EventCore(Payload.self, name)
  }

  nonisolated func tellObservers() { NewEvents.tell(core) }

  // Cancels the pending posts of `post(_:after:)`. The core's `deinit` would do so too late: a
  // drain may retain the core for so long that they come due first.
  deinit { core.cancelLaterPosts() }
}

package struct NoPayload: Sendable {}

/// An event that carries no value.
public typealias Signal = Event<Void>

extension Event {
  /// Sends a payload without waiting for handlers.
  ///
  /// If the event is idle, `post` calls the inline handlers on the calling thread and enqueues the
  /// occurrence on the lanes of all other handlers before it returns. The exception is a post
  /// inside more than 32 nested deliveries, which leaves both to the event's own queue. On the main
  /// queue, `post` also calls a synchronous handler on ``MainDelivery/main``, unless a call to that
  /// handler is running or queued.
  ///
  /// If the event is busy, `post` spins up to 1,000 times (about 1 µs) for the event to become
  /// idle. After that, it enqueues the occurrence and returns. The event's own queue delivers the
  /// occurrence later, unless the event has become idle by then and `post` delivers it itself.
  ///
  /// **Inside a handler** of this event, `post` enqueues the occurrence, which is delivered after
  /// the current one has reached every handler. Nested posts use constant stack space.
  ///
  /// **Overload.** If more than 1,024 occurrences are queued, `post` enqueues its own and then
  /// sleeps for a fixed time: it requests 10 µs, which takes about 65 µs on Linux. It never waits
  /// for a handler. A post from an inline handler to its own event never sleeps.
  ///
  /// - Parameters:
  ///   - payload: The value that the handlers receive.
  ///   - sender: The sending object, for ``EventOccurrence/sender``. It's held weakly while the
  ///     occurrence is queued. Don't pass an Objective-C object in its own `deinit`, because weak
  ///     references to it can no longer be created.
  /// - Complexity: O(handlers). If the event is idle and all handlers are inline, `post` allocates
  ///   no memory.
  @inlinable public nonisolated func post(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) {
    core.post(payload, from: sender)
  }

  /// Sends a payload and waits until every handler that it reached has finished.
  ///
  /// `send` waits for handlers on every lane and in every event to which the occurrence is
  /// forwarded. It doesn't wait for loops over ``EventSource/payloads(named:buffering:)``, except
  /// for room in the buffer with ``Buffering/suspendingSender(_:)``. It stays on the caller's
  /// actor. If the event is idle and all handlers are inline, `send` returns without suspending.
  ///
  /// **Inside a handler,** `send` doesn't wait for a handler that is itself waiting for the calling
  /// handler, even across several events, because that would be a deadlock. Such a handler runs
  /// later, and the report counts it as deferred. `send` can follow calls through child tasks and
  /// `Task {}`, but not through a `Task.detached` or a semaphore that a handler waits for: a cycle
  /// of waits through either never ends.
  ///
  /// **Cancellation** of the task doesn't shorten the wait, and every handler still receives the
  /// occurrence. Handlers on ``AsyncDelivery/task`` are child tasks and are cancelled along with
  /// the task.
  ///
  /// **Overload.** Unlike ``post(_:from:)``, `send` never sleeps, no matter how many occurrences
  /// are queued.
  ///
  /// - Parameters:
  ///   - payload: The value that the handlers receive.
  ///   - sender: The sending object: see ``post(_:from:)``.
  /// - Returns: How many handlers were called, why others weren't, and the errors that were thrown.
  /// - Complexity: O(handlers), no matter how many other sends the calling handler is waiting for.
  ///   A send to a running handler examines each wait of its call once.
  @inlinable @discardableResult
  public nonisolated(nonsending) func send(
    _ payload: Payload, from sender: (any AnyObject & Sendable)? = nil
  ) async -> SendReport {
    let result = core.send(payload, from: sender)
    if let pending = result.pending { return await pending.wait() }
    return SendReport(sequence: result.sequence, delivered: result.delivered)
  }

  /// Sends a payload without waiting and returns a ticket whose report can be awaited later.
  ///
  /// Delivery, order and overload are as for ``post(_:from:)``.
  ///
  /// - Parameters:
  ///   - payload: The value that the handlers receive.
  ///   - sender: The sending object: see ``post(_:from:)``.
  /// - Returns: A ticket for the report on this occurrence. Dropping the ticket has no effect.
  /// - Complexity: O(handlers), with one more allocation than ``post(_:from:)``.
  public nonisolated func submit(_ payload: Payload, from sender: (any AnyObject & Sendable)? = nil) -> SendTicket {
    lend(payload) { core.submit($0, from: sender) }
  }
}

extension Event {
  package nonisolated func keep(_ object: any AnyObject & Sendable) {
    let rareState = core.rareState
    core.mutex.withLock { unsafe rareState.ownedObjects.append(object) }
  }
}

extension Event: CustomStringConvertible {
  /// The name and the payload type.
  public nonisolated var description: String { "event \(name.map { "\"\($0)\" " } ?? "")of \(Payload.self)" }
}

extension Event: EventSource {
  /// Adds handlers as a group: see ``EventSource/add(contentsOf:)``.
  @discardableResult public nonisolated func add(contentsOf handlers: [Handler<Payload>]) -> [HandlerToken] {
    let anchor = core.anchor
    if Instruments.areOn { Instruments.joined(anchor, hasHandler: true) }
    let newHandlers = ContiguousArray(handlers.map { core.pendingHandler($0.any, anchor) })
    core.add(newHandlers)
    return newHandlers.map { HandlerToken($0.record, anchor) }
  }

  /// Adds a handler: see ``EventSource/add(_:)``.
  @discardableResult public nonisolated func add(_ handler: Handler<Payload>) -> HandlerToken {
    let anchor = core.anchor
    if Instruments.areOn { Instruments.joined(anchor, hasHandler: true) }
    let newHandler = core.pendingHandler(handler.any, anchor)
    core.add(newHandler)
    return HandlerToken(newHandler.record, anchor)
  }

  /// Removes a handler: see ``HandlerRegistry/remove(_:)``.
  // Doesn't retain the event, which saves 48 instructions (x86-64 Linux).
  @inlinable @discardableResult public nonisolated func remove(_ token: HandlerToken) -> Bool { core.remove(token) }

  @inlinable nonisolated func addInline(
    once: Bool, _ source: SourceLine, _ body: @escaping @Sendable (Payload) throws -> Void
  ) -> HandlerToken {
    core.addInline(once: once, source, HandlerClosure<Payload>(body).erased)
  }
}

extension Event {
  /// A view through which handlers can be added but nothing can be sent.
  ///
  /// The view keeps the event alive.
  public nonisolated var source: some EventSource<Payload> { SourceView(base: self) }

  /// A source of the errors that this event's handlers throw, wherever they run.
  ///
  /// A failure is sent as soon as the handler throws. An inline handler of this source runs on the
  /// thread of the handler that threw, before the occurrence reaches the next handler. Failures
  /// from before the first access to this property aren't sent.
  ///
  /// Handlers of this source are separate from those of the event: remove one with
  /// `event.failures.remove(token)`. The source doesn't keep the event alive.
  public nonisolated var failures: some EventSource<HandlerFailure> { core.anchor.failures().event.source }

}

extension EventSource {
  /// A view whose handlers receive whole occurrences: the payload along with its sender, event
  /// name, sequence number and instant.
  ///
  /// On top of another view, an occurrence contains that view's payload. The view keeps its event
  /// alive.
  public nonisolated var occurrences: some EventSource<EventOccurrence<Payload>> { OccurrenceView(base: self) }
}

struct SourceView<Payload: Sendable>: ViewSource {
  let base: Event<Payload>

  func converted(_ handler: Handler<Payload>) -> Handler<Payload> { handler }
}

struct OccurrenceView<Base: EventSource>: ViewSource {
  typealias Payload = EventOccurrence<Base.Payload>

  let base: Base

  func converted(_ handler: Handler<EventOccurrence<Base.Payload>>) -> Handler<Base.Payload> {
    var handler = handler.converted { (payload: Base.Payload, delivery, name) in
      EventOccurrence(
        payload: payload, sender: delivery.sender, eventName: name, sequence: delivery.sequence,
        instant: (delivery.instant ?? .now).instant)
    }
    // The event reads the clock once per occurrence, so that all handlers get the same instant, no
    // matter how late they run.
    handler.options.isClocked = true
    return handler
  }
}

extension Event where Payload == Void {
  /// Sends without a value: see ``post(_:from:)``.
  @inlinable public nonisolated func post(from sender: (any AnyObject & Sendable)? = nil) { post((), from: sender) }

  /// Sends without a value and returns a ticket: see ``submit(_:from:)``.
  public nonisolated func submit(from sender: (any AnyObject & Sendable)? = nil) -> SendTicket {
    submit((), from: sender)
  }

  /// Sends without a value and waits: see ``send(_:from:)``.
  @inlinable @discardableResult
  public nonisolated(nonsending) func send(from sender: (any AnyObject & Sendable)? = nil) async -> SendReport {
    await send((), from: sender)
  }
}

protocol AnyEvent: Actor, HandlerRegistry {
  nonisolated var name: String? { get }
  nonisolated var core: EventCore { get }
  nonisolated func source<Other: Sendable>(of type: Other.Type, for handler: BusHandler) -> any EventSource<Other>
  nonisolated var isOfProtocol: Bool { get }
}

extension AnyEvent {
  func snapshots(where filter: HandlerFilter) -> [HandlerSnapshot] { core.snapshots(where: filter) }
}

extension Event: AnyEvent {
  @inlinable public nonisolated var handlerTable: HandlerTable {
    HandlerTable(content: .event(BorrowedCore(self), .event))
  }
}
