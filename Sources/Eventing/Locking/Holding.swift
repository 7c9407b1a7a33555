/// What a lock does with the occurrences that its handler is silent for.
///
/// What is held is delivered when the lock ends, before anything newer. It counts as deferred in its report, and no `send` waits for it; what does not fit counts as
/// skipped. A lock made meanwhile wins, and keeps the rest held; a lane gets all of it at once, and it waits there as anything else. It goes with its handler. What
/// waits on the handler's own lane when the lock is made waits on, beyond the count.
public struct Holding: Hashable, Sendable {
  enum Kind: Hashable, Sendable { case nothing, upTo(Int), latest }
  let kind: Kind

  /// They are skipped. This is the default.
  public static var nothing: Holding { Holding(kind: .nothing) }

  /// The latest is held; the one before it counts as skipped then.
  public static var latest: Holding { Holding(kind: .latest) }

  /// The first `count` are held, the others skipped. A count below 0 counts as 0.
  public static func upTo(_ count: Int) -> Holding { Holding(kind: .upTo(max(0, count))) }
}

extension Holding: CustomStringConvertible {
  /// In one line.
  public var description: String {
    switch kind {
    case .nothing: "nothing"
    case .latest: "latest"
    case .upTo(let count): "upTo(\(count))"
    }
  }
}
