/// The events and far ends that a forwarded occurrence came through. The occurrence enters none of
/// them again (G23).
@usableFromInline package final class ForwardingPath: Sendable {
  /// A step of the path.
  private enum Step {
    case event(EventAnchor)
    /// A place that is not an event, such as one name in a notification center.
    case farEnd(any Hashable & Sendable)
    /// The paths of the occurrences that became a batch.
    case paths([ForwardingPath])
  }

  /// The last step.
  private let last: Step
  /// The steps before `last`; `nil` if there are none, because the occurrence began at `last`.
  private let before: ForwardingPath?

  private init(_ last: Step, after before: ForwardingPath?) {
    self.last = last
    self.before = before
  }

  /// Creates a path that is one event longer.
  ///
  /// - Parameters:
  ///   - anchor: The anchor of the event that forwards.
  ///   - before: The path to that event; `nil` if the occurrence was sent there.
  convenience init(_ anchor: EventAnchor, after before: ForwardingPath?) { self.init(.event(anchor), after: before) }

  /// Creates the path of a batch that an event has made.
  ///
  /// - Parameters:
  ///   - anchor: The anchor of the event.
  ///   - paths: The paths to that event.
  convenience init(_ anchor: EventAnchor, afterEach paths: [ForwardingPath]) {
    self.init(.event(anchor), after: paths.isEmpty ? nil : ForwardingPath(.paths(paths), after: nil))
  }

  /// Creates a path that is one far end longer.
  ///
  /// - Parameters:
  ///   - farEnd: The place that the occurrence came from, or leaves to.
  ///   - before: The path to that place; `nil` if the occurrence began there.
  convenience init(farEnd: some Hashable & Sendable, after before: ForwardingPath?) {
    self.init(.farEnd(farEnd), after: before)
  }

  /// Returns whether the occurrence came through an event. O(*n*) for *n* steps.
  func contains(_ anchor: EventAnchor) -> Bool {
    contains { if case .event(let passed) = $0 { passed === anchor } else { false } }
  }

  /// Returns whether the occurrence came through a far end. O(*n*) for *n* steps.
  func contains<FarEnd: Hashable & Sendable>(farEnd: FarEnd) -> Bool {
    contains { if case .farEnd(let passed) = $0 { passed as? FarEnd == farEnd } else { false } }
  }

  private func contains(_ isIt: (Step) -> Bool) -> Bool {
    var path: ForwardingPath? = self
    while let here = path {
      if case .paths(let paths) = here.last { return paths.contains { $0.contains(isIt) } }
      if isIt(here.last) { return true }
      path = here.before
    }
    return false
  }
}
