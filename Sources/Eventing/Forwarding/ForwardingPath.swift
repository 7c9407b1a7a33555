/// The events that a forwarded occurrence came through. It enters none of them again (G23).
@usableFromInline package final class ForwardingPath: Sendable {
  private let identity: EventIdentity
  private let before: ForwardingPath?
  private let length: Int

  /// Creates a path that is one event longer.
  ///
  /// - Parameters:
  ///   - identity: The identity of the event that forwards.
  ///   - before: The path to that event; `nil` if the occurrence was sent there.
  init(_ identity: EventIdentity, after before: ForwardingPath?) {
    self.identity = identity
    self.before = before
    length = (before?.length ?? 0) + 1
  }

  /// Whether the next event must deliver on its own queue, to begin a new stack. Each inline
  /// forward adds to the stack.
  ///
  /// A forward takes up to 5 KB of stack in a debug build. A thread has 8 MB with Glibc. Elsewhere
  /// all threads but the main one may have 512 KB or less.
  var isDeep: Bool {
    #if canImport(Glibc)
      length.isMultiple(of: 128)
    #else
      length.isMultiple(of: 32)
    #endif
  }

  func contains(_ identity: EventIdentity) -> Bool {
    var path: ForwardingPath? = self
    while let here = path {
      if here.identity === identity { return true }
      path = here.before
    }
    return false
  }
}
