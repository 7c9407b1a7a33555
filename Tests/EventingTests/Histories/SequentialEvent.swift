/// A model of an event that performs one operation at a time. ``Linearizability`` searches for an
/// order in which the model can perform all operations of a ``History``.
///
/// A history does not record when a handler skips an occurrence. If a history records no call of a
/// handler for an occurrence, the model lets the handler skip the occurrence as early as possible.
/// Each operation that is possible after a later skip is possible after the early skip, too. So the
/// search does not try later skips.
struct SequentialEvent: Hashable {
  private struct Member: Hashable {
    var isThere = false
    var isOnce = false
    var hasLane = false
    var isLocked = false
    var isEventLocked = false
    /// The occurrences that wait on the handler's lane.
    var lane: [Int] = []

    var isSilent: Bool { !isThere || isLocked || isEventLocked }
  }

  private struct SyncDelivery: Hashable {
    var occurrence: Int
    /// The handlers, in order, that were there when the occurrence was accepted, and that the
    /// occurrence has not reached yet.
    var rest: [Int]
    /// Whether the occurrence has found the next handler (the first in `rest`) registered and not
    /// locked. If so, a later skip of the occurrence by this handler enters ``Skips``, even if the
    /// handler is removed before the skip.
    var isFound = false

    mutating func next() {
      rest.removeFirst()
      isFound = false
    }
  }

  /// The least (`certain`) and the greatest (`possible`) number of skips that a report may count.
  ///
  /// A report does not count a handler that has ended before the occurrence comes to it. The
  /// history does not show when the occurrence comes to a handler. So if a handler may have ended
  /// before the report, its skip is only possible. But if the occurrence was on the handler's lane,
  /// the occurrence had come to the handler, and the skip is certain.
  private struct Skips: Hashable {
    var certain = 0
    var possible = 0
  }

  /// A call of `event.lock()` or `event.unlock()` that has taken effect for some handlers, and not
  /// yet for `left` others.
  private struct Gating: Hashable {
    var part: Operation.GatePart
    var left: Int
  }

  private var members: [Member]
  private var gating: Gating?
  /// The handlers in their order.
  private var order: [Int] = []
  /// The accepted occurrences that have not been delivered, in their order.
  private var queue: [SyncDelivery] = []
  private var posted: Set<Int> = []
  private var skips: [Int: Skips] = [:]

  init(handlers: Int) { members = Array(repeating: Member(), count: handlers) }

  var isQuiet: Bool { queue.isEmpty && members.allSatisfy(\.lane.isEmpty) }

  /// Performs an operation.
  ///
  /// - Returns: Whether an event in this state can have performed the operation with its result.
  mutating func apply(_ operation: Operation) -> Bool {
    switch operation.action {
    case .place(let handler): order.append(handler)
    case .add(let handler):
      guard order.contains(handler.number) else { return false }
      members[handler.number].isThere = true
      members[handler.number].isOnce = handler.isOnce
      members[handler.number].hasLane = handler.hasLane
    case .remove(let handler):
      guard members[handler].isThere == operation.wasThere else { return false }
      members[handler].isThere = false
    case .lock(let handler): return setLock(of: handler, true, operation.wasThere)
    case .unlock(let handler): return setLock(of: handler, false, operation.wasThere)
    case .gate(let handler, let isEventLocked, let part):
      guard gating == nil || gating?.part == part else { return false }
      let left = (gating?.left ?? part.count) - 1
      gating = left == 0 ? nil : Gating(part: part, left: left)
      members[handler].isEventLocked = isEventLocked
    case .post(let occurrence):
      posted.insert(occurrence)
      queue.append(SyncDelivery(occurrence: occurrence, rest: order.filter { members[$0].isThere }))
    case .call(let occurrence, let handler): return call(handler, occurrence)
    case .report(let occurrence, _, let skipped):
      return posted.contains(occurrence) && !queue.contains { $0.occurrence == occurrence }
        && !members.contains { $0.lane.contains(occurrence) }
        && skips[occurrence, default: Skips()].certain <= skipped
        && skipped <= skips[occurrence, default: Skips()].possible
    }
    return true
  }

  private mutating func setLock(of handler: Int, _ isLocked: Bool, _ wasThere: Bool?) -> Bool {
    guard wasThere == nil || members[handler].isThere == wasThere else { return false }
    if members[handler].isThere { members[handler].isLocked = isLocked }
    return true
  }

  private mutating func call(_ handler: Int, _ occurrence: Int) -> Bool {
    guard !members[handler].isSilent else { return false }
    if members[handler].hasLane {
      guard members[handler].lane.first == occurrence else { return false }
      members[handler].lane.removeFirst()
    } else {
      guard let head = queue.first, head.occurrence == occurrence, head.rest.first == handler else { return false }
      queue[0].next()
    }
    if members[handler].isOnce { members[handler].isThere = false }
    return true
  }

  /// Facts about the whole history that the search uses.
  struct Outline {
    var calls: Set<Operation.Action>
    /// The earliest time at which each handler may have ended.
    var leaving: [Int: Int]
    /// A time by which the report of each occurrence was complete.
    var reports: [Int: Int]

    /// Returns whether a handler may have ended before an occurrence came to it.
    func mayHaveLeft(_ handler: Int, before occurrence: Int) -> Bool {
      guard let left = leaving[handler], let report = reports[occurrence] else { return false }
      return left < report
    }

    func isCalled(_ handler: Int, _ occurrence: Int) -> Bool {
      calls.contains(.call(occurrence: occurrence, handler: handler))
    }
  }

  /// Goes on with the deliveries up to the next call that the history records. On the way, handlers
  /// skip occurrences, and occurrences are enqueued on lanes. The history does not record these
  /// steps as operations.
  ///
  /// A handler with a lane may skip an occurrence before the occurrence is enqueued on the lane, or
  /// afterwards. The search must try both cases, so there are two states.
  ///
  /// - Returns: The state in which the occurrence is on the lane, if there are two cases; otherwise
  ///   `nil`.
  mutating func drain(_ outline: Outline) -> SequentialEvent? {
    for handler in members.indices {
      while let first = members[handler].lane.first, members[handler].isSilent, !outline.isCalled(handler, first) {
        members[handler].lane.removeFirst()
        skip(first, isCertain: true)
      }
    }
    while let head = queue.first {
      guard let next = head.rest.first else {
        queue.removeFirst()
        continue
      }
      if outline.isCalled(next, head.occurrence) {
        guard members[next].hasLane, !members[next].isSilent else { return nil }
        pass(head.occurrence, to: next)
      } else if members[next].isSilent {
        if members[next].isThere || head.isFound {
          skip(head.occurrence, isCertain: !outline.mayHaveLeft(next, before: head.occurrence))
        }
        queue[0].next()
      } else {
        queue[0].isFound = true
        guard members[next].hasLane else { return nil }
        var other = self
        other.pass(head.occurrence, to: next)
        return other
      }
    }
    return nil
  }

  private mutating func pass(_ occurrence: Int, to handler: Int) {
    queue[0].next()
    members[handler].lane.append(occurrence)
  }

  private mutating func skip(_ occurrence: Int, isCertain: Bool) {
    skips[occurrence, default: Skips()].possible += 1
    if isCertain { skips[occurrence, default: Skips()].certain += 1 }
  }
}

extension SequentialEvent: CustomStringConvertible {
  var description: String {
    let handlers = members.enumerated().map { number, member in
      let words = [
        member.isThere ? nil : "gone", member.isLocked ? "locked" : nil, member.isEventLocked ? "gated" : nil,
        member.lane.isEmpty ? nil : "lane \(member.lane)",
      ]
      return "\(number): \(words.compactMap(\.self).joined(separator: ", "))"
    }
    return
      "handlers \(handlers.joined(separator: "; ")) and to be delivered \(queue.map { "\($0.occurrence) to \($0.rest)" })"
  }
}
