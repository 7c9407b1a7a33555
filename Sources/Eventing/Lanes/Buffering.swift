/// How much may wait for a handler, or for a sequence, that is slower than its event, and what is dropped beyond that.
///
/// A call that is running does not wait. What is dropped is counted in the report, in ``HandlerSnapshot/droppedCount``, and, for a sequence that is asked for
/// `arrivals(buffering:)`, where it is missing. Counts below 1 count as 1.
public struct Buffering: Hashable, Sendable {
  enum Kind: Hashable, Sendable { case unbounded, oldest(Int), newest(Int), suspendingSender(Int) }
  let kind: Kind

  /// Everything. This is the default.
  public static var unbounded: Buffering { Buffering(kind: .unbounded) }

  /// The newest only: what waited is dropped when something comes.
  public static var latest: Buffering { newest(1) }

  /// The first `count`: what comes when so many wait is dropped.
  public static func oldest(_ count: Int) -> Buffering { Buffering(kind: .oldest(max(1, count))) }

  /// The last `count`: when something comes and so many wait, the oldest of them is dropped.
  public static func newest(_ count: Int) -> Buffering { Buffering(kind: .newest(max(1, count))) }

  /// `count`, and whoever sends waits for room: a `send` is taken beyond them at once, so that the order stands, and returns when there was room for
  /// it. A `post` or a `submit` never waits: it is dropped when so many wait.
  public static func suspendingSender(_ count: Int) -> Buffering { Buffering(kind: .suspendingSender(max(1, count))) }

  var isBounded: Bool { kind != .unbounded }
  var suspendsSender: Bool { if case .suspendingSender = kind { true } else { false } }
}

extension Buffering: CustomStringConvertible {
  /// In one line.
  public var description: String {
    switch kind {
    case .unbounded: "unbounded"
    case .oldest(let count): "oldest(\(count))"
    case .newest(let count): "newest(\(count))"
    case .suspendingSender(let count): "suspendingSender(\(count))"
    }
  }
}

extension Buffering {
  /// What becomes of an occurrence that comes when so many wait.
  enum Decision { case keep, dropIt, dropOldest }

  /// - Parameter isSend: whether a `send` waits for it.
  func decision(waiting: Int, isSend: Bool) -> Decision {
    switch kind {
    case .unbounded: .keep
    case .oldest(let count): waiting < count ? .keep : .dropIt
    case .newest(let count): waiting < count ? .keep : .dropOldest
    case .suspendingSender(let count): waiting < count || isSend ? .keep : .dropIt
    }
  }
}
