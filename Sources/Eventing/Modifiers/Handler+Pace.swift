extension Handler {
  /// Returns a copy that is called when no occurrence has come for a while, with the last one.
  ///
  ///     search.add(Handler(on: .main) { text in model.query = text }
  ///       .debounced(for: .milliseconds(300)))
  ///
  /// The occurrences before the last one count as dropped. The last one is always delivered:
  /// ``HandlerRegistry/finish()``, ``HandlerRegistry/quiesce()`` and the end of the event deliver
  /// it at once. A ``Event/send(_:from:)`` returns when its occurrence is replaced, or after the
  /// call that receives its occurrence.
  ///
  /// A stream that never pauses is delivered at its end only, and a `send` waits that long, unless
  /// `limit` is given. The calls of an inline handler run on the event's own queue.
  ///
  /// The bounds ``Buffering/oldest(_:)`` and ``Buffering/suspendingSender(_:)`` could drop the last
  /// occurrence. So ``Buffering/latest`` takes the place of either bound: only the latest
  /// occurrence waits while a call runs.
  ///
  /// - Parameters:
  ///   - pause: The time without a new occurrence after which the handler is called.
  ///   - limit: The longest time from the first occurrence that waits to the call; `nil` for none.
  ///   - clock: The clock that measures `pause` and `limit`.
  public func debounced(
    for pause: Duration, atMost limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) -> Handler {
    modified {
      $0.pace = Pace(
        kind: .debounce(max(.zero, pause), atMost: limit.map { max(.zero, $0) }),
        clock: clock)
    }.keepingTheLast()
  }

  /// Returns a copy that is called at most once in an interval.
  ///
  ///     progress.add(Handler(on: .main) { fraction in bar.fraction = fraction }
  ///       .throttled(every: .milliseconds(100)))
  ///
  /// The first occurrence is delivered at once; then the latest of each interval. The last one is
  /// always delivered. The others count as dropped. While a call runs that takes longer than the
  /// interval, only the latest occurrence waits on the handler's lane, unless the delivery has a
  /// bound.
  ///
  /// ``HandlerRegistry/finish()``, ``HandlerRegistry/quiesce()`` and the end of the event deliver
  /// at once what waits. They replace nothing that is on the lane already, unless the delivery has
  /// a bound. After a call that `quiesce()` makes, the interval begins anew. If the handler is
  /// inline, calls that come later than their occurrence run on the event's own queue.
  ///
  /// - Parameters:
  ///   - interval: The shortest time between two calls.
  ///   - clock: The clock that measures `interval`.
  public func throttled(every interval: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Handler {
    var copy = modified { $0.pace = Pace(kind: .throttle(max(.zero, interval)), clock: clock) }
    if !any.place.buffering.isBounded { copy.any.place = any.place.buffered(.paced) }
    return copy.keepingTheLast()
  }

  /// Returns a handler whose bound never drops the newest occurrence: this handler, or a copy with
  /// the bound ``Buffering/latest``.
  private func keepingTheLast() -> Handler {
    guard !any.place.buffering.keepsNewest else { return self }
    var copy = self
    copy.any.place = any.place.buffered(.latest)
    return copy
  }
}
