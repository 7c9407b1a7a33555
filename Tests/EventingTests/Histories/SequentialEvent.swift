/// What an event does when only one thing happens at a time: the specification against which histories are judged.
///
/// It delivers by itself whatever need not be waited for: an occurrence is skipped for a handler as soon as that is possible, if it was never called with it.
/// To do so early makes nothing impossible later; so it is no choice, and the search need not try both.
struct SequentialEvent: Hashable {
  private struct Member: Hashable {
    var isThere = false
    var isOnce = false
    var hasLane = false
    var isLocked = false
    var isGated = false
    /// The occurrences that wait for their call elsewhere.
    var lane: [Int] = []

    var isSilent: Bool { !isThere || isLocked || isGated }
  }

  private struct Delivery: Hashable {
    var occurrence: Int
    /// Those who were there when it was accepted and have not had it, in their order.
    var rest: [Int]
    /// The turn of the first of them came while it was there.
    var isFound = false

    mutating func next() {
      rest.removeFirst()
      isFound = false
    }
  }

  /// How many handlers a report may count as skipped. Who was gone when its turn came was not found, and is not counted. When that was is not seen from outside,
  /// so of those who go at some time only what waited on a lane is certain.
  private struct Skips: Hashable {
    var certain = 0
    var possible = 0
  }

  /// A change of the event's own lock that has begun.
  private struct Gating: Hashable {
    var part: Operation.GatePart
    var left: Int
  }

  private var members: [Member]
  private var gating: Gating?
  /// The handlers in their order.
  private var order: [Int] = []
  /// What was accepted and is not delivered, in its order.
  private var queue: [Delivery] = []
  private var posted: Set<Int> = []
  private var skips: [Int: Skips] = [:]

  init(handlers: Int) { members = Array(repeating: Member(), count: handlers) }

  var isQuiet: Bool { queue.isEmpty && members.allSatisfy(\.lane.isEmpty) }

  /// Does it; false if an event in this state would not have done so.
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
    case .gate(let handler, let isGated, let part):
      guard gating == nil || gating?.part == part else { return false }
      let left = (gating?.left ?? part.count) - 1
      gating = left == 0 ? nil : Gating(part: part, left: left)
      members[handler].isGated = isGated
    case .post(let occurrence):
      posted.insert(occurrence)
      queue.append(Delivery(occurrence: occurrence, rest: order.filter { members[$0].isThere }))
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

  /// What is known of the whole history.
  struct Outline {
    var calls: Set<Operation.Action>
    /// When the handlers that go at some time began to.
    var leaving: [Int: Int]
    /// When it was told what became of an occurrence.
    var reports: [Int: Int]

    /// Whether a handler that was there may not have been any more when its turn came.
    func mayHaveLeft(_ handler: Int, before occurrence: Int) -> Bool {
      guard let left = leaving[handler], let report = reports[occurrence] else { return false }
      return left < report
    }

    func isCalled(_ handler: Int, _ occurrence: Int) -> Bool {
      calls.contains(.call(occurrence: occurrence, handler: handler))
    }
  }

  /// Delivers what need not be waited for.
  ///
  /// What a lane gets although it will skip it later is a choice: it is given back as another state that is possible.
  mutating func settle(_ outline: Outline) -> SequentialEvent? {
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
        member.isThere ? nil : "gone", member.isLocked ? "locked" : nil, member.isGated ? "gated" : nil,
        member.lane.isEmpty ? nil : "lane \(member.lane)",
      ]
      return "\(number): \(words.compactMap(\.self).joined(separator: ", "))"
    }
    return
      "handlers \(handlers.joined(separator: "; ")) and to be delivered \(queue.map { "\($0.occurrence) to \($0.rest)" })"
  }
}
