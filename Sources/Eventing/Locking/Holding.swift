/// The fate of occurrences that are delivered while a handler is locked: they are skipped, or held.
///
/// Held occurrences are delivered when the lock ends, before any newer one. Reports count them as
/// held, and no `send` waits for them. Occurrences that do not fit count as skipped. If the
/// handler is removed, its held occurrences are discarded.
///
/// - If the locks of several handlers end together, as with ``HandlerRegistry/unlock()``, the held
///   occurrences come one after the other. Each reaches the handlers in their order, interceptors
///   included. An occurrence that an interceptor stops then is skipped for later handlers.
/// - If several locks of a handler are in force, the `holding` of the lock that began last applies.
/// - A lock that begins while held occurrences are being delivered holds the occurrences that are
///   left.
/// - If the handler has a lane, the end of the lock puts all held occurrences onto the lane,
///   without waiting for calls in between. They wait on the lane as others do.
/// - Occurrences that wait on the lane when a lock that holds occurrences begins stay on the lane.
///   They do not count toward ``upTo(_:)``.
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
