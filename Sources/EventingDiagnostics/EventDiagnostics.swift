public import Eventing

/// An observer that reports slow handlers, calls that hang, lanes that begin no call, lanes that
/// grow, and events with too many handlers.
///
/// Too many handlers usually mean that some were never removed.
///
///     EventDiagnostics(slowerThan: .milliseconds(100), stuckAfter: .seconds(10)) { finding in
///       log(finding)
///     }.observeNewEvents()    // when the program starts; or event.observe(with:) for one event
///
/// A slow handler is reported when its call has ended. A stuck one is reported while it hangs.
///
/// One instance can observe any number of events, from any threads.
// Safe: each field that changes says what guards it.
public final class EventDiagnostics: EventObserver, Sendable {
  /// Longer calls are reported as slow.
  private let slowest: Duration?
  /// Calls that have not ended by then are reported.
  let stuck: Duration?
  /// An event with more handlers is reported.
  private let most: Int?
  let report: @Sendable (Finding) -> Void
  private let events = Guarded<[EventIdentity: Handlers]>([:])
  /// Empty without a limit for stuck calls. Several tables, so that lanes of different handlers
  /// seldom contend.
  private let running: [Guarded<[RunningCall.Key: RunningCall]>]
  let looks = Guarded(Looks())

  fileprivate struct Handlers {
    var members: [UInt64: Member] = [:]
    /// The limit doubles with each report.
    var limit: Int
  }

  fileprivate struct Member {
    let handler: HandlerToken
    /// `nil` for an inline handler, and if lanes are not watched.
    let lane: WatchedLane?
    /// Steps `added` less `removed`, over all observations. Below 0 if an end overtakes a
    /// beginning.
    var count: Int
  }

  /// Creates an observer. Pass it to `observe(with:)` of an event, or call
  /// `observeNewEvents()`.
  ///
  /// With a limit for stuck calls, one timer for the whole process looks at the running calls of
  /// the observed events, twice within the limit. The timer exists while such diagnostics observe
  /// something. It does not see calls that began before their event was observed.
  ///
  /// - Parameters:
  ///   - slowest: The duration up to which a call is not reported as slow; `nil` reports no slow
  ///     call. For an asynchronous handler, suspensions count.
  ///   - stuck: The time after which a call that has not ended is reported; `nil` reports no such
  ///     call. Each such call is reported once, while it hangs, before twice that time has passed.
  ///     Calls of inline handlers, which block their poster, count, too. A lane that has begun none
  ///     of its waiting calls in that time is reported, too. A lane on which more than
  ///     1,024 occurrences wait, and more than at the last look, is reported, too. The lane of a
  ///     locked handler is not reported.
  ///   - most: The number of handlers up to which an event is not reported; `nil` reports no event.
  ///     A number below 0 counts as 0. An event is reported again each time that its number of
  ///     handlers has doubled.
  ///   - report: A closure that receives each finding. It runs on the thread that delivers, on the
  ///     handler's lane, or on the queue of the timer, with no mutex held. Keep it short: on the
  ///     timer's queue, other diagnostics wait for it.
  public init(
    slowerThan slowest: Duration? = nil, stuckAfter stuck: Duration? = nil, moreHandlersThan most: Int? = nil,
    _ report: @escaping @Sendable (Finding) -> Void
  ) {
    self.slowest = slowest
    self.stuck = stuck.map { max(.zero, $0) }
    self.most = most
    self.report = report
    running = stuck == nil ? [] : (0..<16).map { _ in Guarded([:]) }
  }

  // MARK: Steps

  /// Notes a handler that comes or goes, and reports a slow call or an event with too many
  /// handlers.
  public func observe(_ step: EventStep) {
    guard let handler = step.handler else { return }
    switch step.kind {
    case .added: add(handler, step, +1)
    case .removed: add(handler, step, -1)
    case .began: note(handler, step, +1)
    case .left: note(handler, step, -1)
    case .ended, .dropped:
      if step.duration != nil { note(handler, step, -1) }
      guard !step.isFurther, let slowest, let duration = step.duration, duration > slowest else { return }
      report(Finding(.slowHandler, step.event, handler: handler, duration: duration, limit: .duration(slowest)))
    default: break
    }
  }

  private func note(_ handler: HandlerToken, _ step: EventStep, _ change: Int) {
    guard let sequence = step.sequence, !step.isFurther, !running.isEmpty else { return }
    let key = RunningCall.Key(handler: handler.id, sequence: sequence)
    let new = RunningCall(handler, step)
    let gone = running[Int(handler.id % UInt64(running.count))].withLock { calls -> RunningCall? in
      var call = calls[key] ?? new
      call.count += change
      return call.count == 0 ? calls.removeValue(forKey: key) : calls.updateValue(call, forKey: key)
    }
    withExtendedLifetime((new, gone)) {}  // released after the unlock
  }

  /// The longest call comes first.
  var runningCalls: [RunningCall] {
    running.flatMap { $0.withLock { $0.values.filter { $0.count > 0 } } }
      .sorted { ($0.start, $0.number) < ($1.start, $1.number) }
  }

  private func add(_ handler: HandlerToken, _ step: EventStep, _ change: Int) {
    let lane = stuck == nil ? nil : step.lane.map { WatchedLane($0) }
    // The tables are changed in place: if each addition copied them, adding *n* handlers would cost
    // O(*n*²).
    let (names, gone) = events.withLock { events -> ([String?]?, Member?) in
      var gone: Member?
      events[step.event, default: Handlers(limit: max(0, most ?? .max))].note(handler, lane, change, &gone)
      if events[step.event]?.members.isEmpty == true { events[step.event] = nil }
      return (events[step.event]?.namesOfTooMany(after: change), gone)
    }
    withExtendedLifetime(gone) {}  // released after the unlock
    guard let most, let names else { return }
    let counts = Dictionary(grouping: names, by: \.self).map { (name: $0.key, count: $0.value.count) }
    let sorted = counts.sorted {
      $0.count != $1.count ? $0.count > $1.count : ($0.name ?? "") < ($1.name ?? "")
    }
    report(Finding(.manyHandlers, step.event, handlerCount: names.count, limit: .count(most), names: sorted))
  }

  /// In the order in which the handlers were made.
  var lanes: [WatchedHandler] {
    var lanes: [WatchedHandler] = []
    events.withLock { events in
      for (event, handlers) in events {
        for member in handlers.members.values {
          if let lane = member.lane { lanes.append(WatchedHandler(handler: member.handler, event: event, lane: lane)) }
        }
      }
    }
    return lanes.sorted { $0.handler.id < $1.handler.id }
  }
}

struct WatchedHandler: Sendable {
  let handler: HandlerToken
  let event: EventIdentity
  let lane: WatchedLane
}

extension EventDiagnostics.Handlers {
  fileprivate mutating func note(
    _ handler: HandlerToken, _ lane: WatchedLane?, _ change: Int, _ gone: inout EventDiagnostics.Member?
  ) {
    var member = members[handler.id] ?? EventDiagnostics.Member(handler: handler, lane: lane, count: 0)
    member.count += change
    if member.count == 0 { gone = members.removeValue(forKey: handler.id) } else { members[handler.id] = member }
  }

  fileprivate mutating func namesOfTooMany(after change: Int) -> [String?]? {
    guard change > 0, members.count > limit else { return nil }
    limit = max(1, limit) * 2
    return members.values.map(\.handler.name)
  }
}

extension EventDiagnostics: ObservationCounter {
  /// The timer looks for stuck calls from the first observation on.
  package func observationBegan() {
    if let stuck, !stuck.isForever { WatchTimer.shared.add(self, every: stuck / 2) }
  }

  package func observationEnded() {
    if let stuck, !stuck.isForever { WatchTimer.shared.remove(self) }
  }
}
