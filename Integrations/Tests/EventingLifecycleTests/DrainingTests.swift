import Eventing
import EventingLifecycle
import EventingTesting
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

/// Each occurrence that was posted before a shutdown goes its whole way, in whatever order the
/// events are listed.
@Suite(.timeLimit(.minutes(2))) struct DrainingTests {
  /// Shuts a service down after a closure has returned, and waits for its end.
  private func shutDown(_ service: some Service, after body: @escaping @Sendable () async throws -> Void) async throws {
    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await service.run() }
        try await body()
        trigger.triggerGracefulShutdown()
        try await group.waitForAll()
      }
    }
  }

  /// A diamond of forwards, behind a handler that posts to its top, and before one that counts.
  @Test(arguments: 0..<6)
  func whatWasPostedGoesThroughForwardsInWhateverOrderTheEventsAreListed(_ shift: Int) async throws {
    final class Ends: Sendable { let payloads = Mutex<[Int]>([]) }
    let ends = Ends()
    let (start, top, left) = (Event<Int>("start"), Event<Int>("top"), Event<Int>("left"))
    let (right, bottom, end) = (Event<Int>("right"), Event<Int>("bottom"), Event<Int>("end"))
    start.addHandler { payload async in
      for _ in 0..<5 { await Task.yield() }
      top.post(payload)
    }
    top.forward(to: left)
    top.forward(to: right)
    for side in [left, right] {
      side.addHandler { payload async in
        for _ in 0..<5 { await Task.yield() }
        bottom.post(payload)
      }
    }
    bottom.forward(to: end)
    end.addHandler { payload async in
      await Task.yield()
      ends.payloads.withLock { $0.append(payload) }
    }
    let listed = [start, top, left, right, bottom, end]
    let rotated = Array(listed[shift...] + listed[..<shift])
    let order = shift.isMultiple(of: 2) ? rotated : rotated.reversed()
    let service = EventService(
      order[0], order[1], order[2], order[3], order[4], order[5], drainingWithin: .seconds(60))
    try await shutDown(service) { for payload in 0..<20 { start.post(payload) } }
    #expect(ends.payloads.withLock { $0.sorted() } == (0..<20).flatMap { [$0, $0] })
    #expect(order.allSatisfy { $0.isFinished })
  }

  @Test func aHandlerThatPostsToItsOwnEventReachesItsLastStep() async throws {
    let jobs = Event<Int>("jobs")
    let steps = Mutex<[Int]>([])
    jobs.addHandler { step async in
      await Task.yield()
      steps.withLock { $0.append(step) }
      if step < 30 { jobs.post(step + 1) }
    }
    try await shutDown(EventService(jobs, drainingWithin: .seconds(60))) { jobs.post(0) }
    #expect(steps.withLock { $0 } == Array(0...30))
  }

  @Test func aRetryKeepsAllItsAttemptsDuringTheShutdown() async throws {
    struct Refusal: Error {}
    let (jobs, done) = (Event<Int>("jobs"), Event<Int>("done"))
    let attempts = Mutex(0)
    let letters = Mutex(0)
    let finished = Mutex<[Int]>([])
    jobs.add(
      Handler<Int>(.retrying(.exponential(from: .milliseconds(20), to: .milliseconds(20), attempts: 3, jitter: false)))
      { job async throws in
        let attempt = attempts.withLock { count in
          count += 1
          return count
        }
        if attempt < 3 { throw Refusal() }
        done.post(job)
      })
    jobs.deadLetters.addHandler { _ in letters.withLock { $0 += 1 } }
    done.addHandler { job async in
      await Task.yield()
      finished.withLock { $0.append(job) }
    }
    try await shutDown(EventService(done, jobs, drainingWithin: .seconds(60))) { jobs.post(7) }
    #expect(attempts.withLock { $0 } == 3)
    #expect(letters.withLock { $0 } == 0)
    #expect(finished.withLock { $0 } == [7])
  }

  @Test func theEventsOfABusAreDrainedInWhateverOrderTheyWereMade() async throws {
    let bus = EventBus()
    let mailed = Mutex<[Int]>([])
    // The event of `String` is made first, and receives from that of `Int`.
    bus.event(for: String.self).addHandler { text async in
      await Task.yield()
      mailed.withLock { $0.append(Int(text) ?? -1) }
    }
    bus.event(for: Int.self).addHandler { order async in
      for _ in 0..<5 { await Task.yield() }
      bus.post("\(order)")
    }
    try await shutDown(EventService(bus, drainingWithin: .seconds(60))) { for order in 0..<20 { bus.post(order) } }
    #expect(mailed.withLock { $0.sorted() } == Array(0..<20))
  }

  @Test func aLimitEndsTheWaitAndNamesOnlyTheEventsWhoseHandlersRun() async throws {
    let (idle, stuck) = (Event<Int>("idle"), Event<Int>("stuck"))
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let (began, beginning) = AsyncStream.makeStream(of: Void.self)
    stuck.addHandler { _ async in
      beginning.yield()
      for await _ in gate {}
    }
    let late = Mutex<[String]>([])
    let service = EventService(
      stuck, idle, drainingWithin: .milliseconds(100), onTimeout: { names in late.withLock { $0 += names } })
    try await shutDown(service) {
      stuck.post(1)
      for await _ in began { break }
    }
    #expect(late.withLock { $0 } == ["stuck"])
    #expect(stuck.isFinished && idle.isFinished)
    opening.finish()
    await stuck.quiesce()
  }
}
