/// A reference that equals only itself.
@usableFromInline package protocol ComparedByIdentity: AnyObject, Hashable {}

extension ComparedByIdentity {
  @usableFromInline package static func == (a: Self, b: Self) -> Bool { a === b }
  @usableFromInline package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A public type that is described as what it wraps.
protocol DescribedByContent: CustomStringConvertible {
  associatedtype Content: CustomStringConvertible
  var content: Content { get }
}

extension DescribedByContent {
  /// One line for a log.
  public var description: String { content.description }
}
