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

  /// Whether the stack, to which each inline forward adds, is to end here: the next event's own queue goes on. The smallest stack of a thread has
  /// 512 KB, and a forward takes up to 6 KB of it in a debug build.
  var isDeep: Bool { length.isMultiple(of: 32) }

  func contains(_ home: Home) -> Bool {
    var path: Path? = self
    while let here = path {
      if here.home === home { return true }
      path = here.before
    }
    return false
  }
}
