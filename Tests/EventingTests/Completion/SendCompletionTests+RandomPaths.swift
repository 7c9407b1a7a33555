import Eventing
import Testing

extension SendCompletionTests {
  // MARK: Random paths

  @Test(arguments: [false, true]) func sendsAlongRandomPathsThroughFiveEventsAllReturn(withForwards: Bool) async {
    var random = SeededGenerator.fresh("random ways")
    for _ in 0..<8 {
      let seed = random.next()
      guard await comesBack({ await RandomPaths(seed: seed, withForwards: withForwards).run() }) != nil else { return }
    }
  }
}

/// Five events with handlers of random kinds. Each handler sends to random events, and waits for
/// the reports.
private final class RandomPaths: Sendable {
  private let events = (0..<5).map { Event<Hop>("event \($0)") }
  private let handlers: [Int]
  private let (calls, promised) = (Counter(), Counter())
  /// Whether the events forward. A report counts a forward as one handler, and does not count the
  /// calls of the target's handlers.
  private let withForwards: Bool

  private struct Hop: Sendable {
    var left: Int
    let seed: UInt64
  }

  init(seed: UInt64, withForwards: Bool) {
    self.withForwards = withForwards
    var random = SeededGenerator(seed: seed)
    handlers = (0..<5).map { _ in Int.random(in: 1...3, using: &random) }
    for (event, count) in zip(events, handlers) {
      for index in 0..<count {
        let kind = Int.random(in: 0..<5, using: &random)
        let body: @Sendable (Hop) async -> Void = { [unowned self] hop in await self.goOn(hop, index) }
        switch kind {
        case 0: event.addHandler(perform: body)
        case 1: event.addHandler(on: .concurrent(limit: 2), perform: body)
        case 2: event.addHandler(on: .concurrent(limit: 3), perform: body)
        case 3: event.addHandler(on: .task, perform: body)
        default: event.addHandler(on: .main) { await body($0) }
        }
      }
    }
    guard withForwards else { return }
    for event in events {
      event.compactMap { hop in
        hop.left > 0 ? Hop(left: 0, seed: hop.seed) : nil
      }.forward(to: events[Int.random(in: 0..<5, using: &random)])
    }
  }

  private func goOn(_ hop: Hop, _ index: Int) async {
    calls.add()
    guard hop.left > 0 else { return }
    var random = SeededGenerator(seed: hop.seed &+ UInt64(index))
    let next = Int.random(in: 0..<5, using: &random)
    let onward = Hop(left: hop.left - 1, seed: random.next())
    switch Int.random(in: 0..<4, using: &random) {
    case 0: await Task { await self.send(onward, to: next) }.value
    case 1:
      // A task group instead of `async let`. Before Swift 6.4, the runtime reads a child task of
      // `async let` after it has resumed the parent. By then the child may be freed
      // (swiftlang/swift#89883).
      await withTaskGroup(of: Void.self) { group in
        for event in [next, (next + 1) % 5] { group.addTask { await self.send(onward, to: event) } }
      }
    case 2: await events[next].quiesce()
    default: await send(onward, to: next)
    }
  }

  private func send(_ hop: Hop, to index: Int) async {
    let report = await events[index].send(hop)
    promised.add(handlers[index])
    #expect(report.delivered + report.deferred + report.skipped == handlers[index] + (withForwards ? 1 : 0))
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<10 {
        group.addTask { await self.send(Hop(left: 5, seed: UInt64(number)), to: number % 5) }
      }
    }
    while true {
      let before = calls.value
      for event in events { await event.quiesce() }
      if calls.value == before { break }
    }
    #expect(withForwards ? calls.value >= promised.value : calls.value == promised.value)
  }
}
