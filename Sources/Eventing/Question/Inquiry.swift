/// One asking of a question: what is asked, what was answered, and who waits for that.
// Safe: what changes is guarded by `mutex`.
@safe final class Inquiry<Query: Sendable, Answer: Sendable>: @unchecked Sendable {
  typealias Reply = Result<Answer, any Error>

  /// Where an answer comes in the order of the responders.
  struct Rank: Sendable {
    let priority: Int
    let number: UInt64

    func isBefore(_ other: Rank) -> Bool {
      priority != other.priority ? priority > other.priority : number < other.number
    }
  }

  enum End: Sendable { case answered, finished, late, cancelled }

  /// The first answer ends it.
  private let wantsOne: Bool
  private let mutex = UnfairMutex()

  // Under the lock.
  /// What is asked, until the end: a responder that stands still keeps nothing of those who gave up.
  @exclusivity(unchecked) private var asked: Query?
  @exclusivity(unchecked) private var replies: [(rank: Rank, reply: Reply)] = []
  @exclusivity(unchecked) private var end: End?
  @exclusivity(unchecked) private var waiter: UnsafeContinuation<Void, Never>?

  init(_ query: Query, wantsOne: Bool) {
    unsafe asked = query
    self.wantsOne = wantsOne
  }

  /// What is asked; nil after the end, when no answer is wanted any more.
  var query: Query? { mutex.withLock { unsafe asked } }

  /// Takes an answer; one that comes after the end is left out.
  func take(_ reply: Reply, at rank: Rank) {
    let isFirst = mutex.withLock {
      guard unsafe end == nil else { return false }
      unsafe replies.append((rank, reply))
      if case .success = reply { return wantsOne }
      return false
    }
    if isFirst { end(.answered) }
  }

  /// The first end counts.
  func end(_ end: End) {
    mutex.lock()
    if unsafe self.end == nil { unsafe self.end = end }
    let waiter = unsafe waiter
    unsafe self.waiter = nil
    let asked = unsafe asked
    unsafe self.asked = nil
    mutex.unlock()
    withExtendedLifetime(asked) {}  // released outside of the lock
    unsafe waiter?.resume()
  }

  /// Waits for the end; what there is of answers by then, in the order of the responders.
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
    // Taken out: the inquiry may wait for a responder much longer than the one who asked.
    let (reason, replies) = mutex.withLock {
      defer { unsafe self.replies = [] }
      return unsafe (self.end ?? .finished, self.replies)
    }
    return (reason, replies.sorted { $0.rank.isBefore($1.rank) }.map(\.reply))
  }
}
