import Eventing
import Testing

// Tests of guarantee G16: several handlers await one ticket, over several events.
//
// A fault here ends the process, so each test runs in a process of its own.
extension SendCompletionTests {
  @Test func twoHandlersThatAwaitOneTicketOverForwardsReturn() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      for _ in 0..<300 {
        let (x, y, target) = (Event<Int>(), Event<Int>(), Event<Int>())
        let (ticket, waiting) = (ConditionLock<SendTicket?>(nil), Countdown(2))
        for event in [x, y] {
          event.addHandler { number async in
            guard number == 0, let ticket = ticket.withLock({ $0 }) else { return }
            waiting.arrive()
            _ = await ticket.report
          }
          target.forward(to: event)
        }
        let (isInside, mayLeave) = (Gate(), Gate())
        target.addHandler(.priority(1)) { number in
          guard number == 1 else { return }
          isInside.open()
          mayLeave.wait()
        }
        let poster = startThread { target.post(1) }
        await isInside.opened()
        let submitted = target.submit(2)
        ticket.withLock { $0 = submitted }
        x.post(0)
        y.post(0)
        await waiting.opened()
        for _ in 0..<20 { await Task.yield() }  // by now both handlers usually await the ticket
        mayLeave.open()
        await poster.opened()
        #expect(await submitted.report.failures.isEmpty)
        await x.quiesce()
        await y.quiesce()
      }
    }
  }

  @Test func randomWaitsForTicketsOverSeveralEventsReturn() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      var random = SeededGenerator.fresh("waits")
      for _ in 0..<60 {
        let world = WaitingWorld(&random)
        await world.run(&random)
      }
    }
  }
}

/// Several events. Their handlers send to each other, and await each other's tickets.
private struct WaitingWorld {
  let events: [Event<Int>]
  let tickets = ConditionLock<SendTicket?>(nil)

  init(_ random: inout SeededGenerator) {
    events = (0..<Int.random(in: 2...5, using: &random)).map { _ in Event<Int>() }
    for (index, event) in events.enumerated() {
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        let body = body(&random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: event.addHandler(on: .concurrent(limit: Int.random(in: 1...3, using: &random)), perform: body)
        case 1: event.addHandler(on: .task, perform: body)
        default: event.addHandler(perform: body)
        }
      }
      if Int.random(in: 0..<3, using: &random) == 0 { event.forward(to: events[(index + 1) % events.count]) }
      if Int.random(in: 0..<3, using: &random) == 0 {
        event.addHandler(on: .background) { [target = any(&random)] depth in if depth > 0 { target.post(depth - 1) } }
      }
    }
  }

  private func any(_ random: inout SeededGenerator) -> Event<Int> {
    events[Int.random(in: 0..<events.count, using: &random)]
  }

  private func body(_ random: inout SeededGenerator) -> @Sendable (Int) async -> Void {
    let (target, other, tickets) = (any(&random), any(&random), tickets)
    let kind = Int.random(in: 0..<6, using: &random)
    return { depth in
      guard depth > 0 else { return }
      switch kind {
      case 0: await target.send(depth - 1)
      case 1:
        let ticket = target.submit(depth - 1)
        tickets.withLock { $0 = ticket }
        _ = await ticket.report
      case 2: await target.quiesce()
      case 3:
        async let one = target.send(depth - 1)
        async let two = other.send(depth - 1)
        _ = await (one, two)
      case 4:
        if let ticket = tickets.withLock({ $0 }) { _ = await ticket.report }
        await target.send(depth - 1)
      default: await Task { _ = await target.send(depth - 1) }.value
      }
    }
  }

  /// Sends from four tasks. Returns when all events have quiesced.
  func run(_ random: inout SeededGenerator) async {
    let senders = (0..<4).map { number in
      let event = any(&random)
      return Task { for _ in 0..<3 { await event.send(2 + number % 2) } }
    }
    for sender in senders { await sender.value }
    for event in events { await event.quiesce() }
  }
}
