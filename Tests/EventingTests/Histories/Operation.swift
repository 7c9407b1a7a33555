/// One operation on an event, and the times between which it took effect.
struct Operation: Sendable, CustomStringConvertible {
  enum Action: Hashable, Sendable {
    /// A new handler was assigned its place in the order of the handlers.
    ///
    /// If adds overlap, the order of the adds may differ from the order of the places.
    case place(Int)
    /// A handler was added.
    case add(Handler)
    /// A handler was removed, if it was there. For this action, as for `lock` and `unlock`, the
    /// operation's `wasThere` tells whether the handler was there.
    case remove(Int)
    case lock(Int)
    case unlock(Int)
    /// The lock of the whole event (the *event lock*) began or ended for one handler, registered or
    /// not.
    ///
    /// `event.lock()` and `event.unlock()` go through the handlers one after the other. So a
    /// history has one `gate` for each handler and each of these calls. Between two gates of one
    /// call, other operations may take effect, but no gate of another call.
    case gate(Int, Bool, part: GatePart)
    /// An occurrence was accepted.
    case post(Int)
    /// A handler's call for an occurrence began.
    case call(occurrence: Int, handler: Int)
    /// A `send` returned with its report.
    case report(occurrence: Int, delivered: Int, skipped: Int)
  }

  /// The call of `event.lock()` or `event.unlock()` to which a `gate` belongs. `change` is the time
  /// at which the call began. `count` is the number of its gates, one for each handler.
  struct GatePart: Hashable, Sendable {
    var change: Int
    var count: Int
  }

  struct Handler: Hashable, Sendable {
    var number: Int
    var isOnce = false
    /// Whether the handler has a lane: it runs one call at a time, in the order of occurrences.
    var hasLane = false
  }

  var action: Action
  /// Whether the handler was there; `nil` if the operation does not return this.
  var wasThere: Bool?
  var start: Int
  var end: Int
  /// The thread that performed the operation; -1 for a handler.
  var thread = -1

  var description: String {
    let result = wasThere.map { " -> \($0)" } ?? ""
    return "[\(start) - \(end)] \(thread < 0 ? "in a handler" : "thread \(thread)"): \(action)\(result)"
  }

  /// Returns whether the operation overlapped another one on another thread.
  ///
  /// Operations of handlers do not count, because inline handlers run inside the operations of
  /// threads.
  func overlaps(_ other: Operation) -> Bool {
    thread >= 0 && other.thread >= 0 && thread != other.thread && start < other.end && other.start < end && !isPart
      && !other.isPart
  }

  /// Whether the operation is only a part of another one. ``overlaps(_:)`` leaves out parts, so
  /// that each whole operation is counted once. A `place` is a part of an `add`. A call of
  /// `event.lock()` or `event.unlock()` has a `gate` for each handler: the `gate` of handler 0
  /// counts as the whole call, and the other gates are parts.
  private var isPart: Bool {
    switch action {
    case .place: true
    case .gate(let handler, _, _): handler > 0
    default: false
    }
  }
}
