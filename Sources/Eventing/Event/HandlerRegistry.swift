/// A type whose handlers can be removed, locked, counted and waited for: an ``Event``, a
/// ``KeyedEvent``, an ``Observed`` value, an ``EventQuestion``, an ``EventBus``, or a remote event.
///
///     orders.removeAll(where: .named("mail"))
///     await orders.handlers()
///     if await !orders.quiesce(within: .seconds(5)) { print("a handler still runs") }
///
/// `any HandlerRegistry` holds events of different payloads. A type of yours that wraps an event
/// conforms by returning the table of that event:
///
///     extension Shop: HandlerRegistry {
///       var handlerTable: HandlerTable { orders.handlerTable }
///     }
///
/// All methods may be called from any thread and inside any handler. Only a method that waits for
/// other work is awaited.
public protocol HandlerRegistry: Sendable {
  /// The handlers. A type that wraps an event returns the table of the event.
  nonisolated var handlerTable: HandlerTable { get }
}

/// The handlers of one event, or those of the events that an ``EventBus`` has now.
///
/// Only this library makes one. A table retains its event or bus.
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

  /// With `orBusHandler`, also finds a handler of a whole bus, whose token belongs to a private
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

/// Retaining the core takes 100 instructions, because a weak reference leads to it, and looking up
/// the conformance of the generic object 600 (x86-64 Linux).
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
  /// The name in logs, in steps of observers and in snapshots; `nil` if there is none. A bus has no
  /// name.
  ///
  /// - Complexity: O(1).
  public nonisolated var name: String? {
    guard case .event(let core, _) = handlerTable.content else { return nil }
    return core.event.name
  }

  // MARK: Removing

  /// Removes a handler.
  ///
  /// Removal takes effect before this returns: no later call begins, and queued calls are skipped,
  /// also for the occurrence that is being delivered.
  /// A call that another thread began just before may still be running: ``quiesce()`` waits for it.
  /// No call runs afterwards if this is called on the handler's own serial context: the main actor
  /// for ``MainDelivery/main``, its serial queue, or the actor that it is isolated to.
  ///
  /// **Concurrency.** Callable from any thread or task. It never waits for a handler. If two
  /// threads remove one handler, one of them gets `true`. If more than 256 removals are queued, the
  /// caller also sleeps for some microseconds.
  ///
  /// **Inside a handler,** a handler may remove itself or any other. A removed handler that the
  /// current occurrence has not reached yet is not called for that occurrence, whose report does
  /// not count the handler.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: Whether the handler was removed by this call: `false` if it had ended before, or
  ///   belongs to another event.
  /// - Complexity: O(1), amortized over removals. With handlers of several priorities O(log
  ///   priorities), and O(priorities) if it is the last handler of its priority. For a bus, also
  ///   O(*n* log *n*) for its *n* events.
  // Inlinable: otherwise a call takes 230 instructions more (x86-64 Linux).
  @inlinable @discardableResult public nonisolated func remove(_ token: HandlerToken) -> Bool {
    let table = handlerTable
    guard case .event(let core, _) = table.content else { return table.removeFromBus(token) }
    return core.remove(token)
  }

  /// Removes handlers, as ``remove(_:)`` does.
  ///
  /// A handler of all events of a bus ends in all of them if the filter selects it.
  ///
  /// - Parameter filter: The handlers to remove: by default all, with forwards and sequences.
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

  /// Returns whether a handler is still there.
  ///
  /// Callable from any thread and inside any handler, and never waits for a handler.
  ///
  /// - Parameter token: The token of the handler.
  /// - Returns: `false` if the handler was removed or used up, if its owner has been released, or
  ///   if it belongs to another event.
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

  /// The number of handlers; handlers whose owner has been released do not count.
  ///
  /// For a keyed event, this is the number of handlers of all keys. Callable from any thread and
  /// inside any handler, and never waits for a handler. Every add and every removal that has
  /// returned is counted.
  ///
  /// - Complexity: O(handlers).
  public nonisolated var handlerCount: Int {
    var count = 0
    handlerTable.forEach { core in count += core.livingRecords { _ in true }.count }
    return count
  }

  /// Returns snapshots of handlers, in the order in which they are called.
  ///
  /// Forwards and sequences are handlers, too. The event takes the snapshots between two
  /// occurrences, after everything sent before has been delivered. Calls on lanes may still be
  /// queued or running then. May be awaited inside a handler. The events of a bus are looked at
  /// one after the other.
  ///
  /// - Parameter filter: The handlers to look at: by default all.
  /// - Complexity: O(handlers).
  public nonisolated(nonsending) func handlers(where filter: HandlerFilter = .all) async -> [HandlerSnapshot] {
    var found: [HandlerSnapshot] = []
    for event in handlerTable.events { found += await event.snapshots(where: filter) }
    return found
  }

  /// Adds an observer, which is told of every occurrence that is sent from now on.
  ///
  /// Effective on return, and callable from any thread and inside a handler. Several observers are
  /// told in the order in which they were added. The event retains an observer until the
  /// observation is ended, or the event is released. For an ``Observed`` value, the observer is
  /// told of announcements (``Observed/changes(initial:prior:)``) as of other occurrences.
  ///
  /// An observed event has no fast path: each occurrence is enqueued, and the queue is drained at
  /// once. Events without observers pay nothing.
  ///
  /// - Parameter observer: The observer.
  /// - Returns: The observation, which ``EventRegistration/end()`` ends. Without that call, the
  ///   observation lasts as long as the event.
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

  /// Waits like ``quiesce()``, but no longer than a time limit.
  ///
  ///     if await !orders.quiesce(within: .seconds(5)) { print("a handler still runs") }
  ///
  /// Calls that are still running at the limit continue. If the task is cancelled, this returns at
  /// once.
  ///
  /// - Parameters:
  ///   - limit: The longest time to wait. More than a hundred years means for ever.
  ///   - clock: The clock that measures the limit.
  /// - Returns: Whether all calls have ended. With a limit of zero, or in a cancelled task: whether
  ///   the event was idle, with no thread inside, not even one about to leave.
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
