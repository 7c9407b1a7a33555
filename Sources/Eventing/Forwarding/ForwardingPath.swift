/// An occurrence never re-enters an event or a far end on its path (G23).
@usableFromInline package final class ForwardingPath: Sendable {
  private enum Step {
    case event(EventAnchor)
    case farEnd(any Hashable & Sendable)
    case paths([ForwardingPath])
  }

  private let last: Step
  private let before: ForwardingPath?

  private init(_ last: Step, after before: ForwardingPath?) {
    self.last = last
    self.before = before
  }

  convenience init(_ anchor: EventAnchor, after before: ForwardingPath?) { self.init(.event(anchor), after: before) }

  convenience init(_ anchor: EventAnchor, afterAll paths: [ForwardingPath]) {
    self.init(.event(anchor), after: paths.isEmpty ? nil : ForwardingPath(.paths(paths), after: nil))
  }

  convenience init(farEnd: some Hashable & Sendable, after before: ForwardingPath?) {
    self.init(.farEnd(farEnd), after: before)
  }

  func contains(_ anchor: EventAnchor) -> Bool {
    contains { if case .event(let passed) = $0 { passed === anchor } else { false } }
  }

  func contains<FarEnd: Hashable & Sendable>(farEnd: FarEnd) -> Bool {
    contains { if case .farEnd(let passed) = $0 { passed as? FarEnd == farEnd } else { false } }
  }

  private func contains(_ isIt: (Step) -> Bool) -> Bool {
    var path: ForwardingPath? = self
    while let here = path {
      if case .paths(let paths) = here.last { return paths.allSatisfy { $0.contains(isIt) } }
      if isIt(here.last) { return true }
      path = here.before
    }
    return false
  }
}
