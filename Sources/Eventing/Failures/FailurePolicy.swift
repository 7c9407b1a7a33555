/// How an event reacts to a handler that throws.
///
/// Under every policy, the error appears in the ``SendReport`` and in ``Event/failures``.
public struct FailurePolicy: Hashable, Sendable {
  enum Kind: Hashable, Sendable { case collect, stop, remove(Int) }
  let kind: Kind

  /// Calls the other handlers as if the handler had not thrown. This is the default.
  public static var collect: FailurePolicy { FailurePolicy(kind: .collect) }

  /// If an inline handler throws, withholds the occurrence from the remaining handlers.
  ///
  /// They count as skipped, as after ``Interception/stop``. A handler that runs elsewhere throws
  /// too late to stop the occurrence.
  public static var skipLaterHandlers: FailurePolicy { FailurePolicy(kind: .stop) }

  /// Removes a handler once it has thrown a given number of times in total, wherever it runs.
  ///
  /// - Parameter count: The number of errors. A count below 1 counts as 1.
  public static func removeHandler(afterFailures count: Int) -> FailurePolicy {
    FailurePolicy(kind: .remove(max(1, count)))
  }
}

extension FailurePolicy: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    switch kind {
    case .collect: "collect"
    case .stop: "skipLaterHandlers"
    case .remove(let count): "removeHandler(afterFailures: \(count))"
    }
  }
}

@usableFromInline package final class Failures: Sendable {
  let deadLettersReference = OnceReference<DeadLetters>()
  private let eventReference = OnceReference<Event<HandlerFailure>>()
  /// For a private event behind a view of several sources: the event of the first source, in whose
  /// failures users look.
  let visible = OnceReference<EventAnchor>()
  let policy: FailurePolicy
  private let failedCounts = Guarded<[UInt64: Count]>([:])

  private struct Count: Sendable {
    /// Counts failed calls, for `FailurePolicy.removeHandler(afterFailures:)`.
    var errors = 0
    /// Counts the payloads of a failed batch individually.
    var calls = 0
  }

  var event: Event<HandlerFailure> { eventReference.load() ?? eventReference.set(Event("failures")) }

  package var knownEvent: Event<HandlerFailure>? { eventReference.load() }

  init(_ policy: FailurePolicy) { self.policy = policy }

  func note(_ failure: HandlerFailure, calls: Int = 1) -> Bool {
    eventReference.load()?.post(failure)
    if let visible = visible.load() { return visible.failures().note(failure, calls: calls) }
    let count = failedCounts.withLock { failedCounts -> Int in
      // The count of an ended handler has been discarded.
      guard !failure.handler.record.has(HandlerFlags.ended) else { return 0 }
      var counted = failedCounts[failure.handler.id] ?? Count()
      counted.errors += 1
      counted.calls += calls
      failedCounts[failure.handler.id] = counted
      return counted.errors
    }
    switch policy.kind {
    case .collect: return false
    case .stop: return true
    case .remove(let limit):
      if count == limit { _ = failure.handler.anchor.remove(failure.handler.record) }
      return false
    }
  }

  package var counts: [UInt64: Int] { failedCounts.withLock { $0.mapValues(\.calls) } }

  func forget(_ record: HandlerRecord) {
    failedCounts.withLock { $0[record.id] = nil }
    visible.load()?.failures().forget(record)
  }
}

/// An error that a handler threw.
public struct HandlerFailure: Error, Sendable {
  /// The handler that threw.
  public let handler: HandlerToken
  /// The error.
  public let error: any Error

  /// The number of attempts: 1, unless the handler is retried. See
  /// ``HandlerOption/retrying(_:if:clock:)``.
  public let attempts: Int

  let priority: Int

  init(
    _ handler: HandlerToken, _ error: any Error, _ options: HandlerOptions?, attempts: Int = 1
  ) {
    self.attempts = attempts
    self.handler = handler
    self.error = error
    priority = options?.priority ?? 0
  }

  func isBefore(_ other: HandlerFailure) -> Bool {
    priority != other.priority ? priority > other.priority : handler.id < other.handler.id
  }
}

extension HandlerFailure: CustomStringConvertible {
  /// One line for a log.
  public var description: String { "\(handler.name ?? handler.description): \(error)" }
}
