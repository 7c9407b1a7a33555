import CMeasure

/// One peer in the workload `mixed`.
struct MixedLoad {
  /// Operations per second.
  struct Rates {
    var sends: Double
    var pairs: Double
  }
  struct Failure: Error { var text: String }
  private static let senders = 2
  private static let changers = 2

  let peer: Peer
  let rig: Rig
  let addRemove: BulkOperation
  let block: CellBlock
  let handlers: Int

  /// Runs a round, and checks that the permanent handlers received every send once.
  func run(seconds: Double) async -> Result<Rates, Failure> {
    block.reset()
    let start = cm_now(), done = PaddedCounters(Self.senders + Self.changers)
    await Self.runAll(roles, until: start + Int(seconds * 1e9), counting: done)
    let changed = Double(cm_now() - start) / 1e9
    let sent = (0..<Self.senders).map { done[$0] }, pairs = (0..<Self.changers).map { done[Self.senders + $0] }
    let expected = sent.enumerated().map { payloadSum(first: payload(sender: $0, sequence: 1), count: $1) }
    if peer.returnsEarly {
      let total = expected.reduce(0, &+) &* handlers
      wait { (0..<Self.senders).reduce(0) { $0 &+ block.sum(row: $1, columns: handlers) } == total }
    }
    let delivered = peer.returnsEarly ? Double(cm_now() - start) / 1e9 : changed
    if let wrong = block.mismatch(columns: handlers, expected: expected) { return .failure(Failure(text: wrong)) }
    return .success(Rates(sends: Double(sent.reduce(0, +)) / delivered, pairs: Double(pairs.reduce(0, +)) / changed))
  }

  /// The operation that one thread or task repeats.
  private struct Role: Sendable {
    let operation: BulkOperation
    let most: Int
    let chunk: Int
    let batch: @Sendable (_ done: Int) -> Batch
  }

  private var roles: [Role] {
    let cell = block.passing, sends = peer.returnsEarly ? 8 : 32, pairs = 8
    let senders = (0..<Self.senders).map { sender in
      Role(operation: rig.send, most: peer.sendCap ?? .max, chunk: sends) { done in
        Batch(cell: cell, first: payload(sender: sender, sequence: 1 + done), count: sends)
      }
    }
    let changer = Role(operation: addRemove, most: .max, chunk: pairs) { _ in Batch(cell: cell, first: 1, count: pairs)
    }
    return senders + Array(repeating: changer, count: Self.changers)
  }

  /// Runs all roles until the deadline, and counts their operations in `done`.
  ///
  /// Synchronous roles get threads that begin at the same time. If they began one by one, the first
  /// thread could keep the others out for a whole round. Asynchronous roles get tasks.
  private static func runAll(_ roles: [Role], until deadline: Int, counting done: PaddedCounters) async {
    await withTaskGroup(of: Void.self) { group in
      var threads: [@Sendable () -> Void] = []
      for (index, role) in roles.enumerated() {
        switch role.operation {
        case .sync(let body):
          threads.append {
            var count = 0
            while cm_now() < deadline, count < role.most {
              body(role.batch(count))
              count += role.chunk
            }
            done.set(index, count)
          }
        case .async(let body):
          group.addTask {
            var count = 0
            while cm_now() < deadline, count < role.most {
              await body(role.batch(count))
              count += role.chunk
              await Task.yield()
            }
            done.set(index, count)
          }
        }
      }
      let bodies = threads
      if !bodies.isEmpty { await onOwnThread { _ = runThreads(bodies.count) { bodies[$0]() } } }
    }
  }
}
