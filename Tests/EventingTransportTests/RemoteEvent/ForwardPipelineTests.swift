import Eventing
import EventingTesting
import EventingTransport
import Testing

/// A forward begins to publish a payload when the one before it has entered the engine.
@Suite(.timeLimit(.minutes(10))) struct ForwardPipelineTests {
  private static func event(_ engine: some Transport) -> RemoteEvent<[UInt8]> {
    RemoteEvent("numbers", over: engine, codec: .bytes)
  }

  @Test func receiptsAreAwaitedTogetherAndTheOrderHolds() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let engine = SlowReceipts(bus, clock)
      let (placed, reading, local) = (Self.event(engine), Self.event(bus), Event<[UInt8]>("local"))
      let notes = Notes<UInt8>()
      reading.addHandler { notes.note($0[0]) }
      try await reading.listen()
      local.forward(to: placed)
      for number in 1...64 { local.post([UInt8(number)]) }
      await local.quiesce()
      try require(clock.now.offset == .seconds(1), "64 receipts took until \(clock.now)")
      try require(notes.values == Array(1...64) && engine.mostWaiting == 64, "\(notes.values), \(engine.mostWaiting)")
      for number in 65...165 { local.post([UInt8(number)]) }
      await local.quiesce()
      try require(notes.values == Array(1...165) && engine.mostWaiting == 64, "\(notes.values), \(engine.mostWaiting)")
      try require(clock.now.offset == .seconds(3), "101 receipts took until \(clock.now)")
      withExtendedLifetime(placed) {}
    }
  }

  @Test func aSendWaitsForItsOwnReceiptAlone() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let placed = Self.event(SlowReceipts(bus, clock, refusing: [2]))
      let local = Event<[UInt8]>("local")
      local.forward(to: placed)
      let sends = (1...3).map { number in
        Task(executorPreference: EventContext.executor) {
          try? await clock.sleep(for: .milliseconds(100 * number))
          let report = await local.send([UInt8(number)])
          return (report, clock.now.offset)
        }
      }
      for (index, send) in sends.enumerated() {
        let (report, end) = await send.value
        try require(end == .milliseconds(1_100 + 100 * index), "send \(index + 1) ended at \(end)")
        let code = (report.failures.first?.error as? TransportError)?.code
        try require(report.delivered == (index == 1 ? 0 : 1), "\(report)")
        try require(code == (index == 1 ? .mayBeStored : nil), "\(report)")
      }
      withExtendedLifetime(placed) {}
    }
  }

  /// A forward publishes the next payload when the engine has called `entered` for the message
  /// before. If the engine calls it late or never, the forward waits for the receipt of that
  /// message instead.
  @Test(arguments: [SlowReceipts.Entering.saysNothing, .saysLate])
  func withoutAWordOfTheEngineMessagesGoOneByOne(entering: SlowReceipts.Entering) throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let engine = SlowReceipts(bus, clock, entering)
      let (placed, local) = (Self.event(engine), Event<[UInt8]>("local"))
      local.forward(to: placed)
      for number in 1...5 { local.post([UInt8(number)]) }
      await local.quiesce()
      try require(clock.now.offset == .seconds(5) && engine.mostWaiting == 1, "\(clock.now), \(engine.mostWaiting)")
      withExtendedLifetime(placed) {}
    }
  }

  /// The engine in memory calls `entered` when a message is stored, even if a fault loses the
  /// receipt.
  @Test func theEngineInMemorySaysThatAMessageHasEntered() async {
    let bus = InMemoryTransport(faults: [.loseReceipt(1)])
    let entered = Notes<Int>()
    let code = await ListeningTests.code {
      _ = try await bus.publish(RemoteMessage(), to: "numbers") { entered.note(bus.storedCount) }
    }
    #expect(code == .mayBeStored && entered.values == [1])
  }

  /// When the forward is removed or locked, it has begun to publish the first payload. The other
  /// payloads wait behind it.
  @Test(arguments: [true, false]) func aForwardThatEndsPublishesWhatHasBegun(removes: Bool) throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock, publishTimeout: .seconds(100))
      let (placed, reading, local) = (Self.event(bus), Self.event(bus), Event<[UInt8]>("local"))
      let notes = Notes<UInt8>()
      reading.addHandler { notes.note($0[0]) }
      try await reading.listen()
      let token = local.forward(to: placed)
      bus.disconnect()
      for number in 1...3 { local.post([UInt8(number)]) }
      try await clock.sleep(for: .seconds(1))
      if removes { local.remove(token) } else { local.lock(token) }
      bus.reconnect()
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [1], "\(notes.values)")
      local.unlock(token)
      local.post([4])
      await local.quiesce()
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == (removes ? [1] : [1, 4]), "\(notes.values)")
      withExtendedLifetime(placed) {}
    }
  }

  @Test func aForwardHoldsItsEventWeakly() throws {
    try simulate(1...20) { clock in
      let bus = InMemoryTransport(clock: clock)
      let (event, notes) = (RemoteEvent<Int>("numbers", over: bus), Notes<Int>())
      try await event.listen(as: "one", retry: .immediately(attempts: 1), deadLetter: "dead")
      do {
        let (local, placed) = (Event<Int>("local"), RemoteEvent<Int>("placed", over: bus))
        event.forward(to: local)
        event.forward(to: placed)
        try require(event.handlerCount == 2, "\(event.handlerCount)")
        withExtendedLifetime((local, placed)) {}
      }
      try require(event.handlerCount == 0, "\(event.handlerCount)")
      try await event.publish(7)
      try await clock.sleep(for: .seconds(10))
      event.addHandler { notes.note($0) }
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [7], "\(notes.values)")
    }
  }

  @Test func forwardsAreRemovedByTheirTarget() async {
    let bus = InMemoryTransport()
    let (event, local) = (Self.event(bus), Event<[UInt8]>("local"))
    let (other, keyed) = (Self.event(bus), RemoteKeyedEvent<Int, [UInt8]>("keyed", over: bus, codec: .bytes))
    event.forward(to: local)
    event.forward(to: other)
    event.forward(to: keyed) { (key: $0.count, payload: $0) }
    local.forward(to: other)
    local.forward(to: keyed) { (key: $0.count, payload: $0) }
    #expect(event.removeAll(where: .forwarding(to: event)) == 0 && local.removeAll(where: .forwarding(to: event)) == 0)
    #expect(event.removeAll(where: .forwarding(to: local)) == 1 && event.removeAll(where: .forwarding(to: local)) == 0)
    #expect(event.removeAll(where: .forwarding(to: other)) == 1 && event.removeAll(where: .forwarding(to: keyed)) == 1)
    #expect(local.removeAll(where: .forwarding(to: other)) == 1 && local.removeAll(where: .forwarding(to: keyed)) == 1)
    #expect(event.handlerCount == 0 && local.handlerCount == 0)
  }
}
