/// Holds tokens of any events, and removes their handlers when it goes away.
///
/// Thread-safe. It keeps no event alive.
public final class HandlerBag: Sendable {
  private let lock = Lock()
  // Safe: guarded by `lock`.
  @exclusivity(unchecked) nonisolated(unsafe) private var tokens: [HandlerToken] = []

  /// An empty bag.
  public init() {}

  deinit { removeAll() }

  /// Takes a token in. O(1), spread over the insertions.
  public func insert(_ token: HandlerToken) {
    lock.withLock { unsafe tokens.append(token) }
  }

  /// Removes all handlers now, as ``Event/remove(_:)-(HandlerToken)`` does, and forgets them.
  ///
  /// - Returns: how many were still there.
  @discardableResult public func removeAll() -> Int {
    let taken = lock.withLock {
      let taken = unsafe tokens
      unsafe tokens = []
      return taken
    }
    return taken.count { $0.home.remove($0.record) }
  }
}

extension HandlerBag: CustomStringConvertible {
  /// In one line.
  public var description: String { "bag of \(lock.withLock { unsafe tokens.count }) handlers" }
}
