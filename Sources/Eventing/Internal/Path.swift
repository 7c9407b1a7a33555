/// The events that a forwarded occurrence came through, so that it enters none twice (G23).
@usableFromInline final class Path: Sendable {
  private let home: Home
  private let before: Path?

  /// - Parameter home: of the event that forwards.
  init(_ home: Home, after before: Path?) {
    self.home = home
    self.before = before
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
