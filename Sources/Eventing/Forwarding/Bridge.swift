/// A place outside of the events of the process that a handler forwards to.
@usableFromInline package final class Bridge: Sendable {
  package let place: String
  /// A text that distinguishes forwards to equal places, such as the name of a notification; `nil`
  /// if the forward gives none.
  package let label: String?

  init(to place: String, label: String?) { (self.place, self.label) = (place, label) }
}
