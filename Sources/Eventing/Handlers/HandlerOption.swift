/// An option that affects how a handler is called.
///
/// Options come before the closure, wherever you create a handler:
///
///     orders.addHandler(.named("billing"), .retrying(policy)) { order in try await bill(order) }
///
/// Options may be given in any order. Of two options of the same kind, the later one applies. To
/// give several options one name, combine them:
///
///     extension HandlerOption {
///       static var resilient: Self { .options(.retrying(policy), .timingOut(after: .seconds(5))) }
///     }
///
/// Options that affect when a handler is called always apply in this order, from the outside in:
/// pace, key, retry, time limit. ``EventSource/batches(of:within:clock:)`` come after the pace.
public struct HandlerOption<Payload: Sendable>: Sendable {
  let setting: HandlerSetting

  init(_ setting: HandlerSetting) { self.setting = setting }

  // MARK: What a handler is

  /// A name, which several handlers may share.
  ///
  /// - Parameter name: The name in logs and snapshots. ``HandlerFilter/named(_:)`` selects handlers
  ///   by it.
  public static func named(_ name: String) -> HandlerOption { HandlerOption(.name(name)) }

  /// Tags, in addition to those of other options.
  ///
  /// - Parameter tags: The tags by which ``HandlerFilter/tagged(_:)`` selects handlers.
  public static func tagged(_ tags: String...) -> HandlerOption { HandlerOption(.tags(tags)) }

  /// The handler's position in the order of calls.
  ///
  /// - Parameter priority: Handlers of higher priority are called first; handlers of equal priority
  ///   are called in the order in which they were added. The default is 0.
  public static func priority(_ priority: Int) -> HandlerOption { HandlerOption(.priority(priority)) }

  /// Allows one call for each time that the handler is added, as with
  /// ``EventSource/once(_:on:fileID:line:perform:)-(_,SyncDelivery,_,_,_)``.
  public static var once: HandlerOption { HandlerOption(.once) }

  /// Several options as one.
  ///
  /// - Parameter options: The options. If they conflict, the later one applies.
  public static func options(_ options: HandlerOption...) -> HandlerOption {
    HandlerOption(.several(options.map(\.setting)))
  }

  // MARK: When it is called

  /// Limits the number of occurrences that may wait for the handler.
  ///
  /// Nothing ever waits for an inline handler or one on ``AsyncDelivery/task``. For these, the
  /// option has no effect, and a debug build prints a warning.
  ///
  /// - Parameter buffering: How many occurrences may wait, and which ones are dropped beyond that.
  ///   The default is ``Buffering/unbounded``.
  public static func buffering(_ buffering: Buffering) -> HandlerOption { HandlerOption(.buffering(buffering)) }

  /// Calls the handler again when it throws.
  ///
  ///     orders.addHandler(
  ///       .retrying(.exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5))
  ///     ) { order in try await bill(order) }
  ///
  /// All attempts are one call: ``Event/send(_:from:)`` waits for the last attempt, its report
  /// counts the handler once, and ``HandlerFailure/attempts`` is the number of attempts. Observers
  /// see each attempt.
  ///
  /// **Order.** In order or on a shared lane, later occurrences wait until the attempts have ended.
  /// With ``AsyncDelivery/concurrent(limit:)``, other calls continue at the same time. No thread
  /// waits during a delay. An inline handler is called again at once, without a delay.
  ///
  /// **The end.** If the handler is removed or locked between two attempts, there are no more
  /// attempts, and the outcome is the last error. A lock that holds occurrences keeps the call and
  /// its number of attempts until the lock ends. ``HandlerRegistry/finish()`` ends a delay, and one
  /// last attempt follows. The release of an owner is noticed at the end of the delay or at the
  /// next occurrence.
  ///
  /// A `CancellationError` in a cancelled task isn't retried. Cancelling the sending task doesn't
  /// end a delay, except for handlers on ``AsyncDelivery/task``, whose calls are child tasks of it.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts and the delays.
  ///   - isRetried: Returns whether to retry after an error. Called where the handler runs.
  ///   - clock: The clock that measures the delays.
  public static func retrying(
    _ policy: RetryPolicy, if isRetried: @escaping @Sendable (any Error) -> Bool = { _ in true },
    clock: any Clock<Duration> = ContinuousClock()
  ) -> HandlerOption {
    HandlerOption(.retry(RetryRule(policy: policy, isRetried: isRetried, clock: clock)))
  }

  /// A time limit for each attempt.
  ///
  /// At the limit, the task of the attempt is cancelled, and the attempt fails with an
  /// ``EventingError`` of the kind ``EventingError/timedOut``, no matter what it returns or
  /// throws. The next call of an in-order handler and a waiting ``Event/send(_:from:)`` continue
  /// once the attempt has returned. Such a failure is retried like any other: see
  /// ``retrying(_:if:clock:)``.
  ///
  /// A synchronous handler can't be interrupted, so the option has no effect on it, and a debug
  /// build prints a warning.
  ///
  /// - Parameters:
  ///   - limit: The longest duration of an attempt.
  ///   - clock: The clock that measures the limit.
  public static func timingOut(
    after limit: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> HandlerOption {
    HandlerOption(.timeLimit(TimeLimit(duration: max(.zero, limit), clock: clock)))
  }

  /// Calls the handler with the last occurrence once no other has come for a while.
  ///
  ///     search.addHandler(.debounced(for: .milliseconds(300)), on: .main) { text in
  ///       model.query = text
  ///     }
  ///
  /// The occurrences before the last one count as dropped. The last one is always delivered:
  /// ``HandlerRegistry/finish()``, ``HandlerRegistry/quiesce()`` and the end of the event deliver
  /// it at once. ``Event/send(_:from:)`` returns when its occurrence is replaced, or after the call
  /// that receives it.
  ///
  /// A stream that never pauses is delivered only at its end, and a `send` waits that long, unless
  /// `limit` is given. The calls of an inline handler run on the event's own queue.
  ///
  /// The bounds ``Buffering/oldest(_:)`` and ``Buffering/suspendingSender(_:)`` could drop the last
  /// occurrence, so ``Buffering/latest`` replaces them: only the latest occurrence waits while a
  /// call runs.
  ///
  /// - Parameters:
  ///   - pause: The time without a new occurrence after which the handler is called.
  ///   - limit: The longest time from the first waiting occurrence to the call; `nil` for no limit.
  ///   - clock: The clock that measures `pause` and `limit`.
  public static func debounced(
    for pause: Duration, atMost limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) -> HandlerOption {
    HandlerOption(
      .pace(Pace(kind: .debounce(max(.zero, pause), atMost: limit.map { max(.zero, $0) }), clock: clock)))
  }

  /// Calls the handler at most once per interval.
  ///
  ///     progress.addHandler(.throttled(every: .milliseconds(100)), on: .main) { fraction in
  ///       bar.fraction = fraction
  ///     }
  ///
  /// The first occurrence is delivered at once, followed by the latest one of each interval. The
  /// last one is always delivered. The others count as dropped. While a call takes longer than the
  /// interval, only the latest occurrence waits, unless ``buffering(_:)`` sets a bound.
  ///
  /// ``HandlerRegistry/finish()``, ``HandlerRegistry/quiesce()`` and the end of the event deliver a
  /// waiting occurrence at once. It replaces nothing that is already on the lane, unless
  /// ``buffering(_:)`` is given. After a call made by `quiesce()`, the interval starts over. If the
  /// handler is inline, calls that come later than their occurrence run on the event's own queue.
  ///
  /// - Parameters:
  ///   - interval: The shortest time between two calls.
  ///   - clock: The clock that measures `interval`.
  public static func throttled(
    every interval: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> HandlerOption {
    HandlerOption(.pace(Pace(kind: .throttle(max(.zero, interval)), clock: clock)))
  }

  /// Calls the handler in order, one call at a time, for occurrences with equal keys.
  ///
  ///     orders.addHandler(.inOrder(by: \.customer), on: .concurrent(limit: 8)) { order in
  ///       try await ship(order)
  ///     }
  ///
  /// Calls for different keys overlap, up to the limit of the delivery. A slow key doesn't delay
  /// other keys as long as fewer calls than the limit are running. A bound, and a lock that holds
  /// occurrences, apply to all keys together. If calls come one at a time anyway, the option has no
  /// effect.
  ///
  /// On ``AsyncDelivery/task``, a call for a `send` is a child task of the sender, even if the call
  /// had to wait for earlier calls with its key. In that case, the sender's task must resume to
  /// start the child task. If the sender's actor is blocked at that moment, this call and later
  /// calls with that key are delayed.
  ///
  /// The handler uses memory for waiting occurrences and for keys. While no occurrence is waiting
  /// and no call is running, it keeps at most 1,024 keys.
  ///
  /// - Parameter key: A closure that returns the key of a payload. The thread that delivers the
  ///   occurrence calls the closure, as well as `==` and `hash(into:)` of the key.
  public static func inOrder<Key: Hashable & Sendable>(by key: @escaping @Sendable (Payload) -> Key) -> HandlerOption {
    HandlerOption(.key(KeyRule(by: key)))
  }

  /// Cancels the running call when a new occurrence comes.
  ///
  /// The next call begins once the cancelled one has returned. Only the newest occurrence waits.
  /// Occurrences that were replaced, or whose call was cancelled, count as dropped, no matter what
  /// the call returned. In a snapshot, a cancelled call counts both as a call and as dropped. A new
  /// occurrence also ends the delay before a retry. Removing the handler and
  /// ``HandlerRegistry/finish()`` don't cancel a running call.
  ///
  /// A synchronous handler can't be cancelled; for it, only the newest occurrence waits. For an
  /// inline handler, the option has no effect, and a debug build prints a warning. Calls for
  /// different keys of ``inOrder(by:)`` cancel one another, too.
  ///
  /// A handler behind ``EventSource/batches(of:within:clock:)`` has nothing to cancel, because all
  /// waiting payloads form a batch. There, the option stops a debug build and has no effect in a
  /// release build.
  public static var cancellingPrevious: HandlerOption { HandlerOption(.cancellingPrevious) }
}

extension HandlerOption: DescribedByContent {
  var content: HandlerSetting { setting }
}

struct KeyRule: Sendable {
  let makeKeys: @Sendable () -> LaneKeys

  init<Payload: Sendable, Key: Hashable & Sendable>(by key: @escaping @Sendable (Payload) -> Key) {
    makeKeys = { TypedLaneKeys<Key> { key($0.payload(Payload.self)) } }
  }
}

enum HandlerSetting: Sendable {
  case name(String)
  case tags([String])
  case priority(Int)
  case once
  case buffering(Buffering)
  case retry(RetryRule)
  case timeLimit(TimeLimit)
  case pace(Pace)
  case key(KeyRule)
  case cancellingPrevious
  case several([HandlerSetting])
}

extension HandlerSetting: CustomStringConvertible {
  var description: String {
    switch self {
    case .name(let name): "named(\"\(name)\")"
    case .tags(let tags): "tagged(\(tags.map { "\"\($0)\"" }.joined(separator: ", ")))"
    case .priority(let priority): "priority(\(priority))"
    case .once: "once"
    case .buffering(let buffering): "buffering(\(buffering))"
    case .retry(let rule): "retrying(\(rule.policy))"
    case .timeLimit(let limit): "timingOut(after: \(limit.duration))"
    case .pace(let pace): pace.description
    case .key: "inOrder(by:)"
    case .cancellingPrevious: "cancellingPrevious"
    case .several(let settings): "options(\(settings.map(\.description).joined(separator: ", ")))"
    }
  }
}

extension AnyHandler {
  mutating func apply(_ settings: [HandlerSetting]) {
    for setting in settings { apply(setting) }
    guard let modifiers = options.modifierBox?.modifiers, !body.isTransformed else { return }
    place = place.buffered(modifiers.bound(insteadOf: place.buffering))
  }

  private mutating func apply(_ setting: HandlerSetting) {
    switch setting {
    case .name(let name): options.name = name
    case .tags(let tags): if !tags.isEmpty { options.tags = (options.tags ?? []).union(tags) }
    case .priority(let priority): options.priority = priority
    case .once: isOnce = true
    case .several(let settings): for setting in settings { apply(setting) }
    // The others are about the calls.
    case _ where body.isTransformed:
      warn("\(setting) does nothing: the handler has a view in front of it, and is asked for its options there")
    case .buffering(let buffering):
      place = place.buffered(buffering)
      if place.buffering != buffering { warn("\(setting) does nothing: nothing waits for this handler") }
    case .retry(let rule): options.modifiers.retry = rule
    case .timeLimit(let limit):
      if body.isSynchronous {
        warn("timingOut(after:) does nothing: a synchronous handler cannot be ended")
      } else {
        options.modifiers.timeLimit = limit
      }
    case .pace(let pace): options.modifiers.pace = pace
    case .key(let rule): options.modifiers.key = rule
    case .cancellingPrevious:
      if case .inline = place {
        return warn("\(setting) does nothing: an inline handler has ended before the next call")
      }
      options.modifiers.isRestarting = true
    }
  }

  private func warn(_ text: String) {
    #if DEBUG
      Warning.tell("\(self): \(text)")
    #endif
  }
}

extension AnyHandler: CustomStringConvertible {
  @usableFromInline var description: String { "\(options.name ?? "handler") on \(place)\(isOnce ? ", once" : "")" }
}
