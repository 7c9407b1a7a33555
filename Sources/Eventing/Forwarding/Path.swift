/// The events that a forwarded occurrence came through, so that it enters none twice (G23).
@usableFromInline package final class Path: Sendable {
  private let home: Home
  private let before: Path?
  private let length: Int

  /// - Parameter home: of the event that forwards.
  init(_ home: Home, after before: Path?) {
    self.home = home
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

  func contains(_ home: Home) -> Bool {
    var path: Path? = self
    while let here = path {
      if here.home === home { return true }
      path = here.before
    }
    return false
  }
}
