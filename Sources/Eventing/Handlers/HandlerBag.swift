/// Holds tokens of any events, and removes their handlers when it goes away.
///
/// Thread-safe. It keeps no event alive.
public final class HandlerBag: Sendable {
  private let mutex = UnfairMutex()
  // Safe: guarded by `mutex`.
  @exclusivity(unchecked) nonisolated(unsafe) private var tokens: [HandlerToken] = []
  /// How many tokens there may be before those of handlers that are gone are dropped. Guarded by `mutex`.
  @exclusivity(unchecked) nonisolated(unsafe) private var limit = 64

  /// An empty bag.
  public init() {}

  deinit { removeAll() }

  /// Takes a token in.
  ///
  /// An insertion drops the tokens of handlers that are gone, if there are twice as many tokens as the last such look left, and more than 64. Between
  /// insertions a bag keeps the tokens that it has.
  /// - Complexity: O(1), amortized.
  public func insert(_ token: HandlerToken) {
    let gone = mutex.withLock { () -> [HandlerToken] in
      unsafe tokens.append(token)
      return unsafe tokens.count > limit ? takeGone() : []
    }
    withExtendedLifetime(gone) {}  // released outside of the lock
  }

  /// Under the lock: takes the tokens out whose handlers are gone.
  private func takeGone() -> [HandlerToken] {
    let all = unsafe tokens
    unsafe tokens = all.filter { !$0.record.has(HandlerFlags.ended) }
    unsafe limit = unsafe max(64, 2 * tokens.count)
    return all
  }

  /// Removes all handlers now, as ``Event/remove(_:)-(HandlerToken)`` does, and forgets them.
  ///
  /// - Returns: how many were still there.
  @discardableResult public func removeAll() -> Int {
    let taken = mutex.withLock {
      let taken = unsafe tokens
      unsafe tokens = []
      unsafe limit = 64
      return taken
    }
    return taken.count { $0.identity.remove($0.record) }
  }
}

extension HandlerBag: CustomStringConvertible {
  /// How many handlers it holds that are there. O(tokens)
  public var description: String {
    let tokens = mutex.withLock { unsafe self.tokens.map { $0 } }
    let count = tokens.count {
      !$0.record.has(HandlerFlags.ended) && $0.record.details?.options.owner.map { $0.object == nil } != true
    }
    return "bag of \(count) handler\(count == 1 ? "" : "s")"
  }
}
