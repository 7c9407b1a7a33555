/// The events that a forwarded occurrence came through. The occurrence enters none of them again
/// (G23).
@usableFromInline package final class ForwardingPath: Sendable {
  /// The anchor of the last event on the path.
  private let anchor: EventAnchor
  /// The path to that event; `nil` if the occurrence was sent there.
  private let before: ForwardingPath?
  /// The number of events on the path.
  private let length: Int

  /// Creates a path that is one event longer.
  ///
  /// - Parameters:
  ///   - anchor: The anchor of the event that forwards.
  ///   - before: The path to that event; `nil` if the occurrence was sent there.
  init(_ anchor: EventAnchor, after before: ForwardingPath?) {
    self.anchor = anchor
    self.before = before
    length = (before?.length ?? 0) + 1
  }

  /// Whether the next event must deliver on its own queue, which begins a new stack.
  ///
  /// A forward takes up to 5 KB of stack in a debug build. A thread has 8 MB of stack with Glibc.
  /// Elsewhere, all threads but the main one may have 512 KB or less.
  var isDeep: Bool {
    #if canImport(Glibc)
      length.isMultiple(of: 128)
    #else
      length.isMultiple(of: 32)
    #endif
  }

  /// Returns whether the occurrence came through an event. O(*n*) for *n* events on the path.
  func contains(_ anchor: EventAnchor) -> Bool {
    var path: ForwardingPath? = self
    while let here = path {
      if here.anchor === anchor { return true }
      path = here.before
    }
    return false
  }
}
