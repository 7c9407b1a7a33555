/// The options of a handler that decide when its calls are made, and how.
struct HandlerModifiers: Sendable {
  var pace: Pace?
  var batch: BatchRule?
  var key: KeyRule?
  var retry: RetryRule?
  var timeLimit: TimeLimit?
  /// Whether a new occurrence cancels the call that runs.
  var isRestarting = false

  /// Returns the bound of the handler's lane, given that of its options. It never drops the
  /// occurrence that a pace, or a call that cancels another one, is to bring last.
  func bound(insteadOf given: Buffering) -> Buffering {
    if isRestarting { return .latest }
    switch pace?.kind {
    case nil: return given
    case .throttle where !given.isBounded: return .paced
    case .debounce where given == .paced: return .unbounded
    default: return given.keepsNewest ? given : .latest
    }
  }
}

/// When a failed call is tried again.
@usableFromInline struct RetryRule: Sendable {
  let policy: RetryPolicy
  let isRetried: @Sendable (any Error) -> Bool
  let clock: any Clock<Duration>

  /// Returns whether another attempt follows. Calls a closure of the user.
  ///
  /// - Parameter attempts: The number of attempts that have been made.
  func tries(_ error: any Error, after attempts: Int) -> Bool {
    if error is CancellationError, Task.isCancelled { return false }
    return attempts < policy.attempts && isRetried(error)
  }
}

/// The longest duration of one attempt.
struct TimeLimit: Sendable {
  let duration: Duration
  let clock: any Clock<Duration>

  /// The error of an attempt that took longer than `duration`.
  var error: EventingError {
    EventingError(code: .timedOut, description: "the handler was expected to return within \(duration), and did not")
  }
}

/// When a handler receives payloads that come faster than it wants them.
struct Pace: Sendable {
  enum Kind: Sendable {
    /// The handler is called after a pause without payloads, or `atMost` after the first payload
    /// that waits, whichever comes first.
    case debounce(Duration, atMost: Duration?)
    /// The handler is called at most once in an interval.
    case throttle(Duration)
  }
  let kind: Kind
  let clock: any Clock<Duration>
}

extension Pace: CustomStringConvertible {
  var description: String {
    switch kind {
    case .debounce(let pause, let limit): "debounced(for: \(pause)\(limit.map { ", atMost: \($0)" } ?? ""))"
    case .throttle(let interval): "throttled(every: \(interval))"
    }
  }
}

/// The modifiers in an object, so that handlers without them stay small.
@usableFromInline final class ModifierBox: Sendable {
  let modifiers: HandlerModifiers
  init(_ modifiers: HandlerModifiers) { self.modifiers = modifiers }
}

extension HandlerOptions {
  /// The modifiers of the handler. The setter makes a new box, because copies of these options may
  /// share the old one.
  var modifiers: HandlerModifiers {
    get { modifierBox?.modifiers ?? HandlerModifiers() }
    set { modifierBox = ModifierBox(newValue) }
  }
}
