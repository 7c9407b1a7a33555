/// The search for a sequential order of all operations of a history.
///
/// A ``SequentialEvent`` must be able to perform the operations in that order. The order must agree
/// with the clock: an operation that ended before another began comes before it.
///
/// The algorithm is by Wing and Gong. As Lowe proposes ("Testing for linearizability", 2017), it
/// remembers the visited states and visits none twice.
struct Linearizability {
  enum Verdict {
    case linearizable
    /// No order exists in which a ``SequentialEvent`` can perform all operations.
    ///
    /// Of the states that the search visited, the values describe the one with the most performed
    /// operations. `remaining` has the operations that are not performed in this state, and the
    /// event is the ``SequentialEvent`` of this state.
    ///
    /// Before the search, each report's number of delivered calls is compared with the number of
    /// calls in the history. If the numbers differ, there is no search: `remaining` has only that
    /// report, and the event has no handlers.
    case not(remaining: [Operation], SequentialEvent)
    /// The search ended without a result after `limit` states.
    case undecided
  }

  private struct Node: Hashable {
    var done: UInt128
    var event: SequentialEvent
  }

  private let operations: [Operation]
  private let outline: SequentialEvent.Outline
  private var seen: Set<Node> = []
  private var limit: Int
  private var farthest: Node

  /// The largest number of operations that ``judge(_:limit:)`` accepts. `Node.done` has one bit for
  /// each operation.
  static let capacity = 128

  static func judge(_ operations: [Operation], limit: Int = 20_000) -> Verdict {
    precondition(operations.count <= capacity, "\(operations.count) operations; at most \(capacity) can be judged")
    let handlers = operations.compactMap { operation -> Int? in
      switch operation.action {
      case .add(let handler): handler.number
      case .place(let handler), .remove(let handler), .lock(let handler), .unlock(let handler): handler
      case .gate(let handler, _, _), .call(_, let handler): handler
      case .post, .report: nil
      }
    }
    for operation in operations {
      // A report must count as delivered exactly the calls that took place.
      guard case .report(let occurrence, let delivered, _) = operation.action else { continue }
      let count = operations.count { if case .call(occurrence, _) = $0.action { true } else { false } }
      guard count == delivered else { return .not(remaining: [operation], SequentialEvent(handlers: 0)) }
    }
    var search = Linearizability(operations, SequentialEvent(handlers: (handlers.max() ?? -1) + 1), limit)
    if search.go(search.farthest) { return .linearizable }
    if search.limit < 0 { return .undecided }
    let remaining = search.operations.enumerated().filter { search.farthest.done & (1 << UInt128($0.offset)) == 0 }
    return .not(remaining: remaining.map(\.element), search.farthest.event)
  }

  private init(_ operations: [Operation], _ event: SequentialEvent, _ limit: Int) {
    self.operations = operations.sorted { $0.start < $1.start }
    self.limit = limit
    farthest = Node(done: 0, event: event)
    var outline = SequentialEvent.Outline(calls: Set(operations.map { $0.action }), leaving: [:], reports: [:])
    let once = Set(
      operations.compactMap { operation -> Int? in
        if case .add(let handler) = operation.action, handler.isOnce { handler.number } else { nil }
      })
    for operation in operations {
      switch operation.action {
      case .remove(let handler) where operation.wasThere == true:
        outline.leaving[handler] = min(outline.leaving[handler] ?? .max, operation.start)
      case .call(_, let handler) where once.contains(handler):
        outline.leaving[handler] = min(outline.leaving[handler] ?? .max, operation.start)
      case .report(let occurrence, _, _): outline.reports[occurrence] = operation.end
      default: break
      }
    }
    self.outline = outline
  }

  private mutating func go(_ given: Node) -> Bool {
    var node = given
    let other = node.event.drain(outline)
    guard seen.insert(node).inserted else { return false }
    limit -= 1
    guard limit >= 0 else { return false }
    if node.done.nonzeroBitCount > farthest.done.nonzeroBitCount { farthest = node }
    if node.done.nonzeroBitCount == operations.count, node.event.isQuiet { return true }
    var firstEnd = Int.max
    for (index, operation) in operations.enumerated() where node.done & (1 << UInt128(index)) == 0 {
      guard operation.start <= firstEnd else { break }
      firstEnd = min(firstEnd, operation.end)
    }
    // The operation that ended first probably also came first, so the search tries it first.
    for index in candidates(node.done, before: firstEnd) {
      var next = node
      next.done |= 1 << UInt128(index)
      if next.event.apply(operations[index]), go(next) { return true }
    }
    return other.map { go(Node(done: node.done, event: $0)) } ?? false
  }

  private func candidates(_ done: UInt128, before firstEnd: Int) -> [Int] {
    var found: [Int] = []
    for (index, operation) in operations.enumerated() where done & (1 << UInt128(index)) == 0 {
      guard operation.start <= firstEnd else { break }
      found.append(index)
    }
    return found.sorted { operations[$0].end < operations[$1].end }
  }
}
