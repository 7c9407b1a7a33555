struct HandlerModifiers: Sendable {
  var pace: Pace?
  var batch: BatchRule?
  var key: KeyRule?
  var retry: RetryRule?
  var timeLimit: TimeLimit?
  var isRestarting = false

  /// Never drops the occurrence that a pace, or a call that cancels another one, must deliver last.
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

@usableFromInline struct RetryRule: Sendable {
  let policy: RetryPolicy
  let isRetried: @Sendable (any Error) -> Bool
  let clock: any Clock<Duration>

  func tries(_ error: any Error, after attempts: Int) -> Bool {
    if error is CancellationError, Task.isCancelled { return false }
    return attempts < policy.attempts && isRetried(error)
  }
}

struct TimeLimit: Sendable {
  let duration: Duration
  let clock: any Clock<Duration>

  var error: EventingError {
    EventingError(.timedOut, "the handler was expected to return within \(duration), and did not")
  }
}

struct Pace: Sendable {
  enum Kind: Sendable {
    case debounce(Duration, atMost: Duration?)
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

@usableFromInline final class ModifierBox: Sendable {
  let modifiers: HandlerModifiers
  init(_ modifiers: HandlerModifiers) { self.modifiers = modifiers }
}

extension HandlerOptions {
  /// The setter creates a new box, because copies of these options may share the old one.
  var modifiers: HandlerModifiers {
    get { modifierBox?.modifiers ?? HandlerModifiers() }
    set { modifierBox = ModifierBox(newValue) }
  }
}

final class BatchRule: Sendable {
  let count: Int
  let within: Duration?
  let clock: any Clock<Duration>
  let type: PayloadType
  let make: @Sendable (inout PayloadQueue<LaneItem>) -> OwnedPayload
  let append: @Sendable (inout PayloadQueue<PayloadAlone>, inout PayloadQueue<PayloadAlone>) -> Void
  let forEach: @Sendable (BorrowedPayload, (BorrowedPayload) -> Void) -> Void

  init<Payload: Sendable>(of _: Payload.Type, _ count: Int, _ limit: Duration?, _ clock: any Clock<Duration>) {
    self.count = max(1, count)
    within = limit.map { max(.zero, $0) }
    self.clock = clock
    type = [Payload].self
    make = { queue in OwnedPayload(queue.takeAllPayloads(Payload.self)) }
    append = { payloads, batches in
      lend(payloads.takeAllPayloads(Payload.self)) { batches.append(PayloadAlone(), $0) }
    }
    forEach = { batch, body in
      for payload in batch.payload([Payload].self) { lend(payload) { body($0) } }
    }
  }
}
