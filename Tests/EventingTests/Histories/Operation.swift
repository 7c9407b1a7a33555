/// One thing that happened to an event, and between which two moments.
struct Operation: Sendable, CustomStringConvertible {
  enum Action: Hashable, Sendable {
    /// A handler that is being added got its place in the order of the handlers. Between adds that overlap, that is apart from which one joins first.
    case place(Int)
    /// A handler joined.
    case add(Handler)
    /// These tell whether the handler was there.
    case remove(Int)
    case lock(Int)
    case unlock(Int)
    /// What the event's own lock did to one handler, be it there or not. It goes from one to the next, so others may come in between, but no other lock of the event.
    case gate(Int, Bool, part: GatePart)
    /// An occurrence was accepted.
    case post(Int)
    /// A handler's call for an occurrence began.
    case call(occurrence: Int, handler: Int)
    /// A `send` returned with its report.
    case report(occurrence: Int, delivered: Int, skipped: Int)
  }

  /// A part of a change of the event's own lock, which has so many.
  struct GatePart: Hashable, Sendable {
    var change: Int
    var count: Int
  }

  struct Handler: Hashable, Sendable {
    var number: Int
    var isOnce = false
    /// It is called elsewhere: one call after the other, in the order of the occurrences.
    var hasLane = false
  }

  var action: Action
  /// Whether the handler was there, where that was told.
  var wasThere: Bool?
  var start: Int
  var end: Int
  /// Who did it; -1 for a handler.
  var thread = -1

  var description: String {
    let result = wasThere.map { " -> \($0)" } ?? ""
    return "[\(start) - \(end)] \(thread < 0 ? "in a handler" : "thread \(thread)"): \(action)\(result)"
  }

  /// Whether it went on at the same time as another, of another thread. What handlers do counts for none: they run inside of what the threads do.
  func overlaps(_ other: Operation) -> Bool {
    thread >= 0 && other.thread >= 0 && thread != other.thread && start < other.end && other.start < end && !isPart
      && !other.isPart
  }

  /// Whether it belongs to one that is counted.
  private var isPart: Bool {
    switch action {
    case .place: true
    case .gate(let handler, _, _): handler > 0
    default: false
    }
  }
}
