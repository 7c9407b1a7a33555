@usableFromInline package final class Bridge: Sendable {
  package let place: String
  package let label: String?

  init(to place: String, label: String?) { (self.place, self.label) = (place, label) }
}
