/// A type whose handlers can be removed, locked, counted and waited for: an ``Event``, a
/// ``KeyedEvent``, an ``Observed`` value, an ``EventQuestion``, an ``EventBus``, or a remote event.
///
///     orders.removeAll(where: .named("mail"))
///     await orders.handlers()
///     if await !orders.quiesce(within: .seconds(5)) { print("a handler still runs") }
///
/// `any HandlerRegistry` can hold events with different payload types. To make your own type that
/// wraps an event conform, return the table of that event:
///
///     extension Shop: HandlerRegistry {
///       var handlerTable: HandlerTable { orders.handlerTable }
///     }
///
/// All methods may be called from any thread and inside any handler. Only methods that wait for
/// other work are asynchronous.
public protocol HandlerRegistry: Sendable {
  /// The handlers. A type that wraps an event returns that event's table.
  nonisolated var handlerTable: HandlerTable { get }
}

/// The handlers of one event, or of all events that an ``EventBus`` currently has.
///
/// Only this library creates tables. A table retains its event or bus.
public struct HandlerTable: Sendable {
  @usableFromInline package enum Kind: String, Sendable { case event, keyed, observed, question }
  @usableFromInline enum Content: Sendable {
    case event(BorrowedCore, Kind)
    case bus(EventBus)
  }
  @usableFromInline let content: Content

  @inlinable init(content: Content) { self.content = content }

  var events: [any AnyEvent] {
    switch content {
    case .event(let core, _): [core.event]
    case .bus(let bus): bus.all
    }
  }

  func forEach(_ body: (EventCore) -> Void) {
    switch content {
    case .event(let core, _): core.lend(body)
    case .bus(let bus): for event in bus.all { body(event.core) }
    }
  }

  /// With `orBusHandler`, also finds a handler of the whole bus, whose token belongs to a private
  /// event.
  @inline(__always) func with(
    _ token: HandlerToken, orBusHandler: Bool = false, _ body: (EventCore) -> Bool
  ) -> Bool {
    switch content {
    case .event(let core, _): core.lend { $0.owns(token) && body($0) }
    case .bus(let bus): bus.event(of: token, orBusHandler: orBusHandler).map { body($0.core) } ?? false
    }
  }
}

extension HandlerTable {
  @usableFromInline func removeFromBus(_ token: HandlerToken) -> Bool {
    with(token, orBusHandler: true) { $0.remove(token.record) }
  }
}

/// Avoids retaining the core, which takes 100 instructions because it's reached through a weak
/// reference, and looking up the conformance of the generic object, which takes 600 (x86-64 Linux).
// Safe: the object retains the core as long as it exists itself.
@safe @usableFromInline struct BorrowedCore: Sendable {
  @usableFromInline let core: Unmanaged<EventCore>
  @usableFromInline let object: any AnyObject & Sendable

  @inlinable init<Payload>(_ event: Event<Payload>) {
    unsafe core = .passUnretained(event.core)
    object = event
  }

  init<Value>(_ storage: Observed<Value>.Storage) {
    unsafe core = .passUnretained(storage.core)
    object = storage
  }

  @inline(__always) func lend<Result>(_ body: (EventCore) -> Result) -> Result {
    defer { _fixLifetime(object) }
    return unsafe core._withUnsafeGuaranteedRef(body)
  }

  @inlinable @inline(__always) func remove(_ token: HandlerToken) -> Bool {
    defer { _fixLifetime(object) }
    return unsafe core._withUnsafeGuaranteedRef { core in core.remove(token) }
  }

  var event: any AnyEvent {
    guard let event = object as? any AnyEvent ?? value?.anyEvent else {
      preconditionFailure("the object is an event, or has one")
    }
    return event
  }

  var value: (any CombinedValue)? { object as? any CombinedValue }
}

extension HandlerRegistry {
  /// The name in logs, observers' steps and snapshots; `nil` if there is none. A bus has no name.
  ///
  /// - Complexity: O(1).
  public nonisolated var name: String? {
    guard case .event(let core, _) = handlerTable.content else { return nil }
    return core.event.name
  }

  // MARK: Removing

  /// Removes a handler.
  ///
  /// The removal takes effect before this returns: no later call begins, and queued calls are
  /// skipped, even for the occurrence that is being delivered. A call that another thread began
  /// just before may still be running; ``quiesce()`` waits for it. No call runs after this returns
  /// if you call it in the handler's own serial context: on the main actor for
  /// ``MainDelivery/main``, on its serial queue, or on the actor to which it is isolated.
  ///
  /// **Concurrency.** Callable from any thread or task. It never waits for a handler. If two
  /// threads remove the same handler, one of them gets `true`. If more than 256 removals are
  /// queued, the caller also sleeps for some microseconds.
  ///
  /// **Inside a handler,** a handler may remove itself or any other. If the current occurrence
  /// hasn't reached the removed handler yet, the handler isn't called for it, and the report
  /// doesn't count the handler.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: Whether this call removed the handler: `false` if it had already ended or belongs
  ///   to another event.
  /// - Complexity: O(1), amortized over removals. If handlers have several priorities, O(log
  ///   priorities), or O(priorities) for the last handler of its priority. For a bus, plus O(*n*
  ///   log *n*) for its *n* events.
  // Inlinable, which saves 230 instructions per call (x86-64 Linux).
  @inlinable @discardableResult public nonisolated func remove(_ token: HandlerToken) -> Bool {
    let table = handlerTable
    guard case .event(let core, _) = table.content else { return table.removeFromBus(token) }
    return core.remove(token)
  }

  /// Removes the handlers that a filter selects, as ``remove(_:)`` does.
  ///
  /// If the filter selects a handler of all events of a bus, that handler ends in all of them.
  ///
  /// - Parameter filter: The handlers to remove; by default all, including forwards and sequences.
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(handlers).
  @discardableResult public nonisolated func removeAll(where filter: HandlerFilter = .all) -> Int {
    let table = handlerTable
    if case .bus(let bus) = table.content { return bus.removeHandlers(where: filter) }
    var count = 0
    table.forEach { count += $0.removeAll(where: filter.isIncluded) }
    return count
  }

  // MARK: Looking

  /// Returns whether a handler still exists.
  ///
  /// Callable from any thread and inside any handler. It never waits for a handler.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: `true` unless the handler was removed or used up, its owner has been released, or
  ///   it belongs to another event.
  /// - Complexity: O(1). For a bus, O(*n* log *n*) for its *n* events.
  public nonisolated func contains(_ token: HandlerToken) -> Bool {
    handlerTable.with(token, orBusHandler: true) { $0.isAlive(token.record) }
  }

  /// Returns whether a filter selects any handler: see ``contains(_:)``.
  ///
  /// - Complexity: O(handlers).
  public nonisolated func contains(where filter: HandlerFilter) -> Bool {
    var isFound = false
    handlerTable.forEach { core in
      isFound = isFound || !core.livingRecords(where: filter.isIncluded).isEmpty
    }
    return isFound
  }

  /// The number of handlers, without those whose owner has been released.
  ///
  /// For a keyed event, this is the number of handlers of all keys. Callable from any thread and
  /// inside any handler, without waiting for a handler. The number reflects every addition and
  /// every removal that has returned.
  ///
  /// - Complexity: O(handlers).
  public nonisolated var handlerCount: Int {
    var count = 0
    handlerTable.forEach { core in count += core.livingRecords { _ in true }.count }
    return count
  }

  /// Returns snapshots of handlers, in the order in which they are called.
  ///
  /// Forwards and sequences count as handlers, too. The event takes the snapshots between two
  /// occurrences, after everything sent before has been delivered. By then, calls on lanes may
  /// still be queued or running. You can await this inside a handler. The events of a bus are
  /// inspected one after another.
  ///
  /// - Parameter filter: The handlers to inspect; by default all.
  /// - Complexity: O(handlers).
  public nonisolated(nonsending) func handlers(where filter: HandlerFilter = .all) async -> [HandlerSnapshot] {
    var found: [HandlerSnapshot] = []
    for event in handlerTable.events { found += await event.snapshots(where: filter) }
    return found
  }

  /// Adds an observer that is notified of every occurrence sent from now on.
  ///
  /// Effective on return. Callable from any thread and inside any handler. Several observers are
  /// notified in the order in which they were added. The event retains an observer until the
  /// observation ends or the event is released. For an ``Observed`` value, the observer is notified
  /// of announcements (``Observed/changes(initial:prior:)``), too, like any other occurrences.
  ///
  /// An observed event has no fast path: each occurrence is enqueued, and the queue is drained at
  /// once. Events without observers pay nothing.
  ///
  /// - Parameter observer: The observer.
  /// - Returns: The observation. It lasts as long as the event, unless you end it with
  ///   ``EventRegistration/end()``.
  /// - Complexity: O(*n*) for *n* handlers and observers.
  @discardableResult public nonisolated func observe(with observer: some EventObserver) -> EventRegistration {
    let observation = Observation(observer)
    let anchors = handlerTable.events.map { event in
      event.core.observe(in: observation)
      return event.core.anchor
    }
    return EventRegistration {
      observation.end()
      for anchor in anchors { anchor.core?.forgetObservers() }
    }
  }
}

extension HandlerRegistry {
  /// Waits until no call for an occurrence sent before is running or queued on any lane.
  ///
  /// Calls to handlers that have been removed count, too. Occurrences held by a lock don't count,
  /// nor do calls on a lane that such a lock has paused, nor loops over
  /// ``EventSource/payloads(named:buffering:)``.
  ///
  /// `quiesce` covers this event only. A forwarded occurrence has entered the target or is queued
  /// there, but the target's handlers may still be running, so call `quiesce()` on the target next.
  /// ``Event/send(_:from:)`` waits for the handlers of targets, too. For a bus, this waits for one
  /// event after another, but not for events created in the meantime.
  ///
  /// The handlers of ``Event/deadLetters`` count, too, for letters about occurrences sent before.
  /// For an ``Observed`` value, so do the handlers of every ``Observed/combineLatest(_:)`` that
  /// includes it.
  ///
  /// **Inside a handler,** `quiesce` waits neither for that handler nor for a handler that is
  /// waiting for it. Cancelling the task doesn't shorten the wait, unlike for
  /// ``quiesce(within:clock:)``.
  ///
  /// - Complexity: O(handlers), no matter how many other waits the calling handler has.
  public nonisolated(nonsending) func quiesce() async {
    _ = await handlerTable.quiesce(orUntilCancelled: false)
  }

  /// Waits like ``quiesce()``, but no longer than a time limit.
  ///
  ///     if await !orders.quiesce(within: .seconds(5)) { print("a handler still runs") }
  ///
  /// Calls that are still running at the limit continue. If the task is cancelled, this returns at
  /// once.
  ///
  /// - Parameters:
  ///   - limit: The longest time to wait. More than a hundred years means forever.
  ///   - clock: The clock that measures the limit.
  /// - Returns: Whether all calls have ended. If the limit is zero or the task is cancelled,
  ///   whether the event was idle, without any thread inside, not even one about to leave.
  /// - Complexity: That of ``quiesce()``.
  public nonisolated(nonsending) func quiesce(
    within limit: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) async -> Bool {
    let table = handlerTable
    return await Sleeping.result(within: limit, on: clock) { await table.quiesce(orUntilCancelled: true) }
  }

  /// Ends the event: delivers everything sent before and then releases the handlers.
  ///
  /// Later sends reach no handler, and handlers added later end at once. A handler on a lane ends
  /// after the calls queued there. Sequences end, and a task that is waiting in
  /// ``EventSource/next(within:clock:where:)`` gets an ``EventingError``. Use this for an event
  /// that is never released, such as a `static` one.
  ///
  /// A remote event or question also stops listening and can no longer publish or ask. A bus ends
  /// and forgets its events, in the order in which they were created, and its handlers of all
  /// events. The bus can still be used and then creates new events.
  ///
  /// **Concurrency.** Callable from any thread or task. It doesn't wait for handlers; ``quiesce()``
  /// does. Further calls have no effect.
  ///
  /// **Inside a handler,** the current occurrence still reaches every handler.
  ///
  /// - Complexity: O(handlers). For a bus, also O(*n* log *n*) for its *n* events.
  public nonisolated func finish() {
    let table = handlerTable
    if case .bus(let bus) = table.content { return bus.finishAll() }
    table.forEach { $0.finish() }
  }

  /// Whether ``finish()`` was called. Handlers may still be running; ``quiesce()`` waits for them.
  ///
  /// For a bus, whether it has events and all of them have ended.
  ///
  /// - Complexity: O(1). For a bus, O(*n* log *n*) for its *n* events.
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
