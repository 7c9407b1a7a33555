// Safe: all mutable fields are guarded by `mutex`.
@safe package final class Inquiry<Query: Sendable, Answer: Sendable>: @unchecked Sendable {
  typealias Reply = Result<Answer, any Error>

  struct Rank: Sendable {
    let priority: Int
    let number: UInt64

    func isBefore(_ other: Rank) -> Bool {
      priority != other.priority ? priority > other.priority : number < other.number
    }
  }

  enum End: Sendable { case answered, finished, late, cancelled }

  private let wantsOne: Bool
  private let mutex = UnfairMutex()

  /// `nil` after the end, because a responder may retain the inquiry forever. Guarded by: mutex.
  @exclusivity(unchecked) private var asked: Query?
  // Guarded by: mutex.
  @exclusivity(unchecked) private var replies: [(rank: Rank, reply: Reply)] = []
  // Guarded by: mutex.
  @exclusivity(unchecked) private var end: End?
  // Guarded by: mutex.
  @exclusivity(unchecked) private var waiter: UnsafeContinuation<Void, Never>?

  init(_ query: Query, wantsOne: Bool) {
    unsafe asked = query
    self.wantsOne = wantsOne
  }

  var query: Query? { mutex.withLock { unsafe asked } }

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
    // The cancellation of the caller's task already holds the lock of that task.
    if case .cancelled = end { unsafe waiter.resume() } else { unsafe Scheduling.resume(waiter) }
  }

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
    // Takes the answers out, because a slow responder may retain the inquiry long after the caller
    // is gone.
    let (reason, replies) = mutex.withLock {
      defer { unsafe self.replies = [] }
      return unsafe (self.end ?? .finished, self.replies)
    }
    return (reason, replies.sortedUnspecialized { $0.rank.isBefore($1.rank) }.map(\.reply))
  }
}
