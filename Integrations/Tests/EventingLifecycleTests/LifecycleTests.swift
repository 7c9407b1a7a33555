import Eventing
import EventingLifecycle
import EventingTesting
import EventingTransport
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct LifecycleTests {
  /// Runs a service until a closure returns, then shuts it down.
  private func run(_ service: some Service, _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await service.run() }
        try await body()
        trigger.triggerGracefulShutdown()
        try await group.waitForAll()
      }
    }
  }

  @Test func aShutdownHandlesWhatIsInHandAndTakesNothingNew() async throws {
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    let handled = Event<Int>()
    let recorder = EventRecorder(handled)
    let (began, beginning) = AsyncStream.makeStream(of: Void.self)
    placed.addHandler { order async in
      beginning.yield()
      for _ in 0..<50 { await Task.yield() }
      handled.post(order)
    }
    try await run(ListeningService { try await placed.listen(as: "billing", startingAt: .first, inFlight: 1) }) {
      try await placed.publish(1)
      for await _ in began { break }
    }
    #expect(recorder.payloads == [1])
    try await placed.publish(2)
    try await recorder.expect([1], within: .seconds(60))
    #expect(recorder.payloads == [1])
    // A new member of the group continues after the messages that were handled.
    try await placed.listen(as: "billing")
    try await recorder.expect([2], within: .seconds(60))
  }

  @Test func aListeningThatDoesNotDrainEndsInTime() async throws {
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let (began, beginning) = AsyncStream.makeStream(of: Void.self)
    placed.addHandler { _ async in
      beginning.yield()
      for await _ in gate {}
    }
    let service = ListeningService(drainingWithin: .milliseconds(20)) {
      try await placed.listen(as: "billing", startingAt: .first)
    }
    try await run(service) {
      try await placed.publish(1)
      for await _ in began { break }
    }
    opening.finish()  // the handler ran until here, so `run` had not waited for it
    await placed.quiesce()
  }

  @Test func anErrorOfListeningEndsTheService() async {
    let placed = RemoteEvent<Int>("bad subject", over: InMemoryTransport())
    let error = await #expect(throws: TransportError.self) {
      try await ListeningService { try await placed.listen() }.run()
    }
    #expect(error?.code == .badSubject)
  }

  @Test func aCancellationEndsTheListening() async throws {
    let placed = RemoteEvent<Int>("orders.placed", over: InMemoryTransport())
    placed.addHandler { _ in }
    let (listens, listening) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await ListeningService {
        defer { listening.yield() }
        return try await placed.listen(as: "billing")
      }.run()
    }
    for await _ in listens { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await placed.listen(as: "billing")  // would throw if the event still listened in this group
  }

  @Test func aShutdownFinishesEventsAndWaitsForTheirHandlers() async throws {
    let (orders, payments) = (Event<Int>("orders"), Event<Int>("payments"))
    let count = Atomic<Int>(0)
    for event in [orders, payments] {
      event.addHandler { _ async in
        for _ in 0..<20 { await Task.yield() }
        count.add(1, ordering: .sequentiallyConsistent)
      }
    }
    let late = Mutex<[String]>([])
    try await run(EventService(orders, payments) { names in late.withLock { $0 += names } }) {
      for order in 0..<10 {
        orders.post(order)
        payments.post(order)
      }
    }
    #expect(count.load(ordering: .sequentiallyConsistent) == 20)
    #expect(orders.isFinished && payments.isFinished)
    #expect(late.withLock { $0 }.isEmpty)
  }

  @Test func aShutdownThatTakesTooLongNamesTheEvents() async throws {
    let (orders, stuck) = (Event<Int>("orders"), Event<Int>("stuck"))
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    orders.addHandler { _ async in }
    stuck.addHandler { _ async in for await _ in gate {} }
    let late = Mutex<[String]>([])
    let service = EventService(
      orders, stuck, drainingWithin: .milliseconds(200), onTimeout: { names in late.withLock { $0 += names } })
    try await run(service) {
      await orders.send(1)
      stuck.post(1)
    }
    #expect(late.withLock { $0 }.contains("stuck"))
    #expect(stuck.isFinished)
    opening.finish()
    await stuck.quiesce()
  }

  @Test func aShutdownDrainsABus() async throws {
    let bus = EventBus()
    let count = Atomic<Int>(0)
    bus.event(for: Int.self).addHandler { _ async in
      for _ in 0..<20 { await Task.yield() }
      count.add(1, ordering: .sequentiallyConsistent)
    }
    let event = bus.event(for: Int.self)
    try await run(EventService(bus)) { for number in 0..<10 { bus.post(number) } }
    #expect(count.load(ordering: .sequentiallyConsistent) == 10)
    #expect(event.isFinished)
  }

  @Test func aServiceGroupShutsSendersDownBeforeTheirEvents() async throws {
    struct Sender: Service {
      let event: Event<Int>
      func run() async throws {
        try await gracefulShutdown()
        for order in 0..<10 { event.post(order) }
      }
    }
    let orders = Event<Int>("orders")
    let count = Atomic<Int>(0)
    orders.addHandler { _ async in
      await Task.yield()
      count.add(1, ordering: .sequentiallyConsistent)
    }
    let group = ServiceGroup(
      services: [EventService(orders), Sender(event: orders)],
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
    }
    #expect(count.load(ordering: .sequentiallyConsistent) == 10)
  }
}
