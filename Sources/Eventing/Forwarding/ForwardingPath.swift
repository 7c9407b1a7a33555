/// The events that a forwarded occurrence came through, so that it enters none twice (G23).
@usableFromInline package final class ForwardingPath: Sendable {
  private let identity: EventIdentity
  private let before: ForwardingPath?
  private let length: Int

  /// - Parameter identity: of the event that forwards.
  init(_ identity: EventIdentity, after before: ForwardingPath?) {
    self.identity = identity
    self.before = before
    length = (before?.length ?? 0) + 1
  }

  /// Whether the stack, to which each inline forward adds, is to end here: the next event's own queue goes on.
  ///
  /// A forward takes up to 5 KB in a debug build. Threads have 8 MB with Glibc; 512 KB and less, but for the main one, elsewhere.
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
