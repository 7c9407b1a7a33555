/// How many occurrences may wait for a handler or a sequence that is slower than its event, and
/// which ones are dropped beyond that.
///
/// A running call doesn't count as waiting. Dropped occurrences are counted in
/// ``SendReport/dropped`` and ``HandlerSnapshot/droppedCount`` and reported to observers. A
/// sequence from ``EventSource/arrivals(named:buffering:)`` also shows where occurrences are
/// missing. For a sequence, an occurrence counts as delivered once it has been handed over. If it's
/// dropped later to make room, only the snapshot and the arrivals show that.
public struct Buffering: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case unbounded, oldest(Int), newest(Int), suspendingSender(Int)
    /// Like `newest(1)`, but takes what the pace must pass on early and drops nothing for it.
    case paced
  }
  let kind: Kind

  /// Nothing is dropped. This is the default.
  public static var unbounded: Buffering { Buffering(kind: .unbounded) }

  /// Only the newest occurrence waits. The one that was waiting before is dropped.
  public static var latest: Buffering { newest(1) }

  /// Keeps the oldest occurrences: one that comes while `count` are waiting is dropped.
  ///
  /// - Parameter count: The number of occurrences that may wait. A number below 1 counts as 1.
  public static func oldest(_ count: Int) -> Buffering { Buffering(kind: .oldest(max(1, count))) }

  /// Keeps the newest occurrences: if one comes while `count` are waiting, the oldest is dropped.
  ///
  /// - Parameter count: The number of occurrences that may wait. A number below 1 counts as 1.
  public static func newest(_ count: Int) -> Buffering { Buffering(kind: .newest(max(1, count))) }

  /// Makes `send` wait for room, which limits how far senders can get ahead of the handler.
  ///
  /// If `count` occurrences are waiting, the buffer still takes the occurrence of a
  /// ``Event/send(_:from:)`` at once to preserve the order, but that `send` returns only after
  /// there has been room. The occurrence of a ``Event/post(_:from:)`` or ``Event/submit(_:from:)``
  /// is dropped in this case, because these calls never wait.
  ///
  /// - Parameter count: The number of occurrences that may wait. A number below 1 counts as 1.
  public static func suspendingSender(_ count: Int) -> Buffering { Buffering(kind: .suspendingSender(max(1, count))) }

  /// The bound behind a throttle if the user hasn't given one.
  package static var paced: Buffering { Buffering(kind: .paced) }

  package var isBounded: Bool { kind != .unbounded }
  var keepsNewest: Bool {
    switch kind {
    case .unbounded, .newest, .paced: true
    case .oldest, .suspendingSender: false
    }
  }
  var suspendsSender: Bool { if case .suspendingSender = kind { true } else { false } }
}

extension Buffering: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .unbounded: "unbounded"
    case .oldest(let count): "oldest(\(count))"
    case .newest(let count): "newest(\(count))"
    case .paced: "newest(1)"
    case .suspendingSender(let count): "suspendingSender(\(count))"
    }
  }
}

extension Buffering {
  func isFull(waiting: Int) -> Bool { decision(waiting: waiting, isSend: false) != .keep }
}
