/// What happens to a handler that throws, and to the occurrence that it threw at.
///
/// In every case the error is in the report and in ``Event/failures``.
public struct FailurePolicy: Hashable, Sendable {
  enum Kind: Hashable, Sendable { case collect, stop, remove(Int) }
  let kind: Kind

  /// Nothing: the other handlers are called as if it had not thrown. This is the default.
  public static var collect: FailurePolicy { FailurePolicy(kind: .collect) }

  /// An inline handler that throws keeps the occurrence from the handlers after it, as an interceptor does: they count as skipped. One that runs elsewhere throws too
  /// late for that.
  public static var stop: FailurePolicy { FailurePolicy(kind: .stop) }

  /// A handler is removed when it has thrown so often, in all; a count below 1 counts as 1.
  public static func remove(after count: Int) -> FailurePolicy { FailurePolicy(kind: .remove(max(1, count))) }
}

extension FailurePolicy: CustomStringConvertible {
  /// In one line.
  public var description: String {
    switch kind {
    case .collect: "collect"
    case .stop: "stop"
    case .remove(let count): "remove(after: \(count))"
    }
  }
}

/// What an event does with what its handlers throw. Made when the first who asks for it does.
// Safe: `counts` is guarded by `mutex`.
@usableFromInline final class Failures: @unchecked Sendable {
  let event = Event<HandlerFailure>("failures")
  private let policy: FailurePolicy
  private let mutex = UnfairMutex()
  /// How often each handler threw, if that matters.
  @exclusivity(unchecked) private var counts: [UInt64: Int] = [:]

  init(_ policy: FailurePolicy) { self.policy = policy }

  /// Tells of a failure.
  ///
  /// - Returns: whether it stops the occurrence.
  func note(_ failure: HandlerFailure) -> Bool {
    event.post(failure)
    switch policy.kind {
    case .collect: return false
    case .stop: return true
    case .remove(let limit):
      let isLast = mutex.withLock {
        guard !failure.handler.record.has(HandlerFlags.ended) else { return false }  // it has been forgotten
        let count = unsafe counts[failure.handler.id, default: 0] + 1
        unsafe counts[failure.handler.id] = count < limit ? count : nil
        return count >= limit
      }
      if isLast { _ = failure.handler.identity.remove(failure.handler.record) }
      return false
    }
  }

  /// How many handlers have thrown, and not too often.
  var countedHandlers: Int { mutex.withLock { unsafe counts.count } }

  /// A handler has gone.
  func forget(_ record: HandlerRecord) {
    if policy != .collect, policy != .stop { mutex.withLock { unsafe counts[record.id] = nil } }
  }
}
