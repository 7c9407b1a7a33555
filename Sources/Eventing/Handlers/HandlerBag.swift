/// A collection of tokens from any events that removes their handlers when it is released.
///
/// A bag keeps neither events nor the closures of handlers alive. It may be used from any thread
/// and inside any handler.
public final class HandlerBag: Sendable {
  private let mutex = UnfairMutex()
  // Safe: `tokens` and `limit` are guarded by `mutex`.
  // Guarded by: mutex.
  @exclusivity(unchecked) nonisolated(unsafe) private var tokens: [HandlerToken] = []
  // Guarded by: mutex.
  @exclusivity(unchecked) nonisolated(unsafe) private var limit = 64

  /// Creates an empty bag.
  public init() {}

  deinit { removeAll() }

  /// Discards the tokens of ended handlers once there are more than 64 tokens and more than twice
  /// as many as the last such insertion left, so it's O(1), amortized.
  func insert(_ token: HandlerToken) {
    let gone = mutex.withLock { () -> [HandlerToken] in
      unsafe tokens.append(token)
      return unsafe tokens.count > limit ? takeGone() : []
    }
    withExtendedLifetime(gone) {}  // released outside the mutex
  }

  /// The caller holds `mutex` and releases the returned tokens after unlocking.
  private func takeGone() -> [HandlerToken] {
    let all = unsafe tokens
    unsafe tokens = all.filter { !$0.record.has(HandlerFlags.ended) }
    unsafe limit = unsafe max(64, 2 * tokens.count)
    return all
  }

  /// Removes the handlers of all tokens, as ``HandlerRegistry/remove(_:)`` does, and empties
  /// the bag.
  ///
  /// If another thread stores a token at the same time, either its handler is removed or the bag
  /// keeps the token.
  ///
  /// - Returns: The number of handlers that this call removed.
  /// - Complexity: O(tokens).
  @discardableResult public func removeAll() -> Int {
    let taken = mutex.withLock {
      let taken = unsafe tokens
      unsafe tokens = []
      unsafe limit = 64
      return taken
    }
    return taken.count { $0.remove() }
  }
}

extension HandlerBag {
  /// The number of handlers in the bag that haven't ended. A handler whose owner is gone has ended.
  ///
  /// - Complexity: O(tokens).
  public var count: Int {
    let tokens = mutex.withLock { unsafe self.tokens.map { $0 } }
    return tokens.count { !$0.record.has(HandlerFlags.ended) && !$0.record.hasLostOwner }
  }
}

extension HandlerBag: CustomStringConvertible {
  /// The number of handlers in the bag that haven't ended, as text.
  ///
  /// - Complexity: O(tokens).
  public var description: String {
    let count = count
    return "bag of \(count) handler\(count == 1 ? "" : "s")"
  }
}
