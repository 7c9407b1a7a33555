/// One call that asks an ``EventQuestion``: the query, the answers so far and the waiting caller.
// Safe: all mutable fields are guarded by `mutex`.
@safe package final class Inquiry<Query: Sendable, Answer: Sendable>: @unchecked Sendable {
  typealias Reply = Result<Answer, any Error>

  /// The position of an answer in the order of the responders.
  struct Rank: Sendable {
    let priority: Int
    let number: UInt64

    func isBefore(_ other: Rank) -> Bool {
      priority != other.priority ? priority > other.priority : number < other.number
    }
  }

  enum End: Sendable { case answered, finished, late, cancelled }

  /// Whether the first answer ends the inquiry.
  private let wantsOne: Bool
  private let mutex = UnfairMutex()

  /// The query; `nil` after the end. So the query is released even if a responder that never
  /// returns still retains the inquiry. Guarded by: mutex.
  @exclusivity(unchecked) private var asked: Query?
  /// The answers and errors so far. Guarded by: mutex.
  @exclusivity(unchecked) private var replies: [(rank: Rank, reply: Reply)] = []
  /// The reason of the end; `nil` before. Guarded by: mutex.
  @exclusivity(unchecked) private var end: End?
  /// The suspended caller. Guarded by: mutex.
  @exclusivity(unchecked) private var waiter: UnsafeContinuation<Void, Never>?

  init(_ query: Query, wantsOne: Bool) {
    unsafe asked = query
    self.wantsOne = wantsOne
  }

  /// The query; `nil` after the end, when no answer is wanted any more.
  var query: Query? { mutex.withLock { unsafe asked } }

  /// Stores the answer of a responder, unless the inquiry has ended. The answer of a later attempt
  /// takes the place of an error of an earlier one.
  func take(_ reply: Reply, at rank: Rank) {
    var replaced: Reply?
    defer { withExtendedLifetime(replaced) {} }  // released outside the mutex
    let isFirst = mutex.withLock {
      guard unsafe end == nil else { return false }
      if let index = unsafe replies.firstIndex(where: { $0.rank.number == rank.number }) {
        replaced = unsafe replies[index].reply
        unsafe replies[index].reply = reply
      } else {
        unsafe replies.append((rank, reply))
      }
      if case .success = reply { return wantsOne }
      return false
    }
    if isFirst { end(.answered) }
  }

  /// Ends the inquiry and resumes the caller. Only the first end counts.
  func end(_ end: End) {
    mutex.lock()
    if unsafe self.end == nil { unsafe self.end = end }
    let waiter = unsafe waiter
    unsafe self.waiter = nil
    let asked = unsafe asked
    unsafe self.asked = nil
    mutex.unlock()
    withExtendedLifetime(asked) {}  // released outside the mutex
    guard let waiter = unsafe waiter else { return }
    // The cancellation of the caller's task has the lock of that task already.
    if case .cancelled = end { unsafe waiter.resume() } else { unsafe Scheduling.resume(waiter) }
  }

  /// Waits for the end of the inquiry.
  ///
  /// - Returns: The reason of the end, and the answers so far in the order of the responders.
  func wait() async -> (end: End, replies: [Reply]) {
    await withTaskCancellationHandler {
      unsafe await withUnsafeContinuation { continuation in
        let isOver = mutex.withLock {
          if unsafe end == nil { unsafe waiter = unsafe continuation }
          return unsafe end != nil
        }
        if isOver { unsafe continuation.resume() }
      }
    } onCancel: {
      end(.cancelled)
    }
    // Takes the answers out of the inquiry, so that the inquiry does not retain them. A slow
    // responder may retain the inquiry long after the caller has gone.
    let (reason, replies) = mutex.withLock {
      defer { unsafe self.replies = [] }
      return unsafe (self.end ?? .finished, self.replies)
    }
    return (reason, replies.sortedUnspecialized { $0.rank.isBefore($1.rank) }.map(\.reply))
  }
}
