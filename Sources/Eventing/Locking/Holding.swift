/// The fate of occurrences that are delivered while a handler is locked: they are skipped, or held.
///
/// Held occurrences are delivered when the lock ends, before any newer one. Reports count them as
/// deferred, and no `send` waits for them. Occurrences that do not fit count as skipped. If the
/// handler is removed, its held occurrences are discarded.
///
/// - Of several locks of one handler, the `holding` of the one that began last counts.
/// - A lock that begins while held occurrences are being delivered holds the rest of them.
/// - When the lock ends, a handler with a lane gets all held occurrences at once. They wait on the
///   lane as others do.
/// - If occurrences already wait on the lane when a lock that holds occurrences begins, they stay
///   there. They do not count toward ``upTo(_:)``.
public struct Holding: Hashable, Sendable {
  enum Kind: Hashable, Sendable { case nothing, upTo(Int), latest }
  let kind: Kind

  /// Nothing is held: occurrences are skipped. This is the default.
  public static var nothing: Holding { Holding(kind: .nothing) }

  /// The latest occurrence is held. The one before it then counts as skipped.
  public static var latest: Holding { Holding(kind: .latest) }

  /// Holds the first `count` occurrences and skips the others.
  ///
  /// - Parameter count: The number of occurrences. A number below 0 counts as 0.
  public static func upTo(_ count: Int) -> Holding { Holding(kind: .upTo(max(0, count))) }
}

extension Holding: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .nothing: "nothing"
    case .latest: "latest"
    case .upTo(let count): "upTo(\(count))"
    }
  }
}
