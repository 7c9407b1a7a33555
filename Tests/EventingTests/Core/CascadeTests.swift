import Eventing
import Testing

/// Tests that a chain of events whose handlers post to the next one fits a small stack (G2, G5).
@Suite(.fewAtATime) struct CascadeTests {
  enum Kind: CaseIterable { case plain, owner, once, view, locked, keyed, observed, replayed, forward, sent }

  static let length = 400
  /// A length that fits the stack without a count of the deliveries.
  #if DEBUG
    static let shorter = 100
  #else
    static let shorter = 500
  #endif

  /// A chain of events: the first post, and what the last event has received.
  struct Chain {
    let start: @Sendable (Int) -> Void
    let seen = Recorder<Int>()
    let events: [Event<Int>]
    var others: [any Sendable] = []

    init(_ kind: Kind, length: Int = CascadeTests.length) {
      let events = (0..<length).map { _ in Event<Int>(replaying: kind == .replayed ? .last(1) : .none) }
      self.events = events
      for (event, next) in zip(events, events.dropFirst()) {
        switch kind {
        case .plain: event.addHandler { next.post($0) }
        case .owner: event.addHandler(owner: next) { next, number in next.post(number) }
        case .once: event.once { next.post($0) }
        case .view: event.filter { $0 > 0 }.once { next.post($0) }
        case .locked:
          event.addHandler(on: .background) { _ in }
          event.addHandler { next.post($0) }
          event.lock(event.addHandler { _ in })
        case .forward: event.forward(to: next)
        case .sent: event.addHandler(owner: next) { next, number in _ = next.submit(number) }
        case .replayed: event.once { next.post($0) }
        case .keyed, .observed: break
        }
      }
      let seen = seen
      switch kind {
      case .keyed:
        let keyed = events.map { _ in KeyedEvent<Int, Int>() }
        for (event, next) in zip(keyed, keyed.dropFirst()) { event[1].once { next.post($0, to: 1) } }
        keyed.last?[1].addHandler { seen.record($0) }
        start = { keyed[0].post($0, to: 1) }
        others = [keyed]
      case .observed:
        let values = events.map { _ in Observed(0) }
        for (value, next) in zip(values, values.dropFirst()) { value.newValues.addHandler { next.value = $0 } }
        values.last?.newValues.addHandler { if $0 > 0 { seen.record($0) } }
        start = { values[0].value = $0 }
        others = [values]
      default:
        events.last?.addHandler { seen.record($0) }
        start = { events[0].post($0) }
      }
    }
  }

  @Test(arguments: Kind.allCases.filter { $0 != .plain }) func aLongCascadeFitsASmallStack(kind: Kind) async {
    let chain = Chain(kind)
    let thread = startThread(stack: 512 * 1_024) { chain.start(1) }
    await thread.opened()
    #expect(await eventually { chain.seen.count > 0 })
    #expect(chain.seen.values == [1])
    withExtendedLifetime(chain) {}
  }

  // The second occurrence takes the fast path where the handlers allow that, and plain handlers
  // take it at once. There, no delivery is counted.
  @Test(arguments: Kind.allCases) func aLongCascadeFitsASmallStackAgain(kind: Kind) async {
    let chain = Chain(kind, length: CascadeTests.shorter)
    let isOnce = [.once, .view, .keyed, .replayed].contains(kind)
    for number in 1...(isOnce ? 1 : 3) {
      await startThread(stack: 512 * 1_024) { chain.start(number) }.opened()
      #expect(await eventually { chain.seen.count == number })
    }
    withExtendedLifetime(chain) {}
  }

  @Test func theOrderOfAPosterStaysBeyondTheDepth() async {
    let chain = Chain(.locked)
    await startThread(stack: 512 * 1_024) { for number in 1...50 { chain.start(number) } }.opened()
    #expect(await eventually { chain.seen.count == 50 })
    #expect(chain.seen.values == Array(1...50))
    withExtendedLifetime(chain) {}
  }

  @Test func aSendWaitsForAHandlerBeyondTheDepth() async {
    let events = (0..<100).map { _ in Event<Int>() }
    let last = Counter()
    for (event, next) in zip(events, events.dropFirst()) { event.forward(to: next) }
    events.last?.addHandler { _ in last.add() }
    for number in 1...3 {
      #expect(await events[0].send(number).delivered == 1)
      #expect(last.value == number)
    }
  }

  @Test func aShortCascadeIsDeliveredBeforeThePostReturns() {
    let events = (0..<30).map { _ in Event<Int>() }
    let last = Counter()
    for (event, next) in zip(events, events.dropFirst()) { event.once { next.post($0) } }
    events.last?.addHandler { _ in last.add() }
    events[0].post(1)
    #expect(last.value == 1)
  }
}
