#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  @Suite(.serialized, .timeLimit(.minutes(2))) struct SubscriptionTests {
    @Test func questionsAreAnsweredByOneMemberAndManyAtOnce() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let other = try await server.connect()
      let asking = RemoteQuestion<Int, Int>("double", over: nats.plain)
      #expect(
        await transportError { _ = try await asking.firstAnswer(to: 1, within: .seconds(20)) }?.code == .noResponders)
      let answering = RemoteQuestion<Int, Int>("double", over: other.plain)
      answering.addResponder { number in number * 2 }
      try await answering.listen(as: "doublers", inFlight: 8)
      let answers = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<200 { group.addTask { try await asking.firstAnswer(to: number, within: .seconds(20)) } }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(answers.sorted() == (0..<200).map { $0 * 2 })
      await nats.close()
      await other.close()
    }

    /// The caller's limit counts from the arrival of the query, also while it waits for others.
    @Test func aQueryWhoseCallerHasGoneMeanwhileIsNotBegun() async throws {
      let server = try NATSServer(hasStreams: false)
      let (nats, other) = (try await server.connect(), try await server.connect())
      let (begun, gate) = (Guarded<[Int]>([]), OneShot<Void>())
      let answering = RemoteQuestion<Int, Int>("echo", over: other.plain)
      answering.addResponder { number in
        begun.withLock { $0.append(number) }
        if number == 1 { await gate.value }
        return number
      }
      try await answering.listen(inFlight: 1)
      let asking = RemoteQuestion<Int, Int>("echo", over: nats.plain)
      async let first = asking.firstAnswer(to: 1, within: .seconds(20))
      try await eventually("expected a query") { begun.withLock { $0 } == [1] }
      let late = await transportError { _ = try await asking.firstAnswer(to: 2, within: .milliseconds(300)) }
      #expect(late?.code == .timedOut)
      gate.set(())
      #expect(try await first == 1)
      #expect(try await asking.firstAnswer(to: 3, within: .seconds(20)) == 3)
      #expect(begun.withLock { $0 } == [1, 3])
      await nats.close()
      await other.close()
    }

    @Test func questionsOverAStreamAreRefusedInWords() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let question = RemoteQuestion<Int, Int>("test.q", over: stream)
      #expect(await transportError { _ = try await question.firstAnswer(to: 1) }?.code == .notPromised)
      await nats.close()
    }

    @Test func whatASlowListenerDropsIsCounted() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let dropped = Guarded(0)
      nats.incidents.addHandler { incident in
        guard incident.kind == .slowConsumer else { return }
        #expect(incident.event == "a" && incident.stream == nil)
        dropped.withLock { $0 += incident.dropped }
      }
      let event = RemoteEvent<Int>("a", over: nats.plain)
      let handled = Guarded(0)
      event.addHandler { _ in
        try await Task.sleep(for: .milliseconds(1))
        handled.withLock { $0 += 1 }
      }
      try await event.listen(inFlight: 4)
      for number in 0..<2_000 { try await event.publish(number) }
      try await eventually(
        "expected 2,000 in all, got \(handled.withLock { $0 }) and \(dropped.withLock { $0 }) dropped"
      ) {
        handled.withLock { $0 } + dropped.withLock { $0 } == 2_000
      }
      #expect(dropped.withLock { $0 } > 0)
      await nats.close()
    }

    @Test func drainingAMemberOfAGroupWithoutAStreamLosesNothing() async throws {
      let server = try NATSServer(hasStreams: false)
      let (sender, stays) = (try await server.connect(), try await server.connect())
      let handled = Guarded<[Int]>([])
      func listen(over nats: NATS) async throws -> (RemoteEvent<Int>, Listening) {
        let event = RemoteEvent<Int>("a", over: nats.plain)
        event.addHandler { number in handled.withLock { $0.append(number) } }
        return (event, try await event.listen(as: "members", inFlight: 20_000))
      }
      let (staying, _) = try await listen(over: stays)
      let event = RemoteEvent<Int>("a", over: sender.plain)
      var sent = 0
      for _ in 0..<10 {
        let leaves = try await server.connect()
        let (leaving, listening) = try await listen(over: leaves)
        let numbers = sent..<(sent + 1_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { for number in numbers { try await event.publish(number) } }
          group.addTask {
            while handled.withLock({ $0.count }) < numbers.lowerBound + 200 { await Task.yield() }
            await listening.drain(within: .seconds(20))
          }
          try await group.waitForAll()
        }
        withExtendedLifetime(leaving) {}
        sent = numbers.upperBound
        try await eventually("expected \(sent) messages, got \(handled.withLock { $0.count })") {
          handled.withLock { $0.count } >= numbers.upperBound
        }
        await leaves.close()
      }
      #expect(handled.withLock { $0.sorted() } == Array(0..<sent))
      withExtendedLifetime(staying) {}
      await sender.close()
      await stays.close()
    }

    @Test func aMessageOfAnotherProgramThatCannotBeDecodedIsADeadLetter() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let dead = RemoteEvent<[UInt8]>("test.dead", over: stream, codec: .bytes)
      let letters = Guarded<[[UInt8]]>([])
      let numbers = Guarded<[Int]>([])
      dead.addHandler { letter in letters.withLock { $0.append(letter) } }
      event.addHandler { number in numbers.withLock { $0.append(number) } }
      try await dead.listen(as: "readers")
      try await event.listen(as: "one", deadLetter: "test.dead")
      var random = SystemRandomNumberGenerator()
      for _ in 0..<50 {
        let bytes = (0..<Int.random(in: 0...100)).map { _ in UInt8.random(in: 128...255, using: &random) }
        _ = try await stream.publish(RemoteMessage(headers: ["X": "Status"], body: bytes), to: "test.a")
      }
      try await event.publish(7)
      try await eventually("expected 7, got \(numbers.withLock { $0 })") { numbers.withLock { $0 } == [7] }
      try await eventually("expected 50 letters, got \(letters.withLock { $0.count })") {
        letters.withLock { $0.count } == 50
      }
      await nats.close()
    }

    @Test func listeningWithoutAGroupBeginsWhereItIsTold() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let before = Date()
      let event = RemoteEvent<Int>("test.a", over: stream)
      for number in 1...5 { try await event.publish(number) }
      for (start, expected) in [
        (StartPosition.first, 1), (.time(before), 1), (.position(4), 4), (.time(Date() + 60), 6),
      ] {
        let numbers = Guarded<[Int]>([])
        let listener = RemoteEvent<Int>("test.a", over: stream)
        listener.addHandler { number in numbers.withLock { $0.append(number) } }
        let listening = try await listener.listen(startingAt: start)
        if expected <= 5 {
          try await eventually("expected \(expected)...5, got \(numbers.withLock { $0 })") {
            numbers.withLock { $0 } == Array(expected...5)
          }
        }
        await listening.drain(within: .seconds(5))
      }
      await nats.close()
    }

    /// The memory and the number of threads stay about the same when listenings begin and end while
    /// messages arrive.
    ///
    /// The test has a process of its own, because in a shared process other tests would take
    /// memory.
    @Test func listeningsComeAndGoUnderLoad() async throws {
      await #expect(processExitsWith: .success) {
        let server = try NATSServer()
        let nats = try await server.connect()
        let stream = try await nats.stream("TEST", subjects: ["test.>"])
        let plain = nats.plain
        let isOver = Guarded(false)
        async let load: Void = {
          while !isOver.withLock({ $0 }) {
            _ = try? await plain.publish(RemoteMessage(body: [UInt8](repeating: 1, count: 100)), to: "load")
            _ = try? await stream.publish(RemoteMessage(body: [UInt8](repeating: 1, count: 100)), to: "test.load")
          }
        }()
        var (threads, memory) = (0, [Int]())
        for round in 0..<2_000 {
          let isStream = round.isMultiple(of: 3)
          let event = RemoteEvent<[UInt8]>(
            isStream ? "test.load" : "load", over: isStream ? stream : plain, codec: .bytes)
          event.addHandler { _ in }
          let listening = try await event.listen(as: round.isMultiple(of: 2) ? "one" : nil)
          if round.isMultiple(of: 5) { await listening.drain(within: .seconds(1)) } else { listening.cancel() }
          if round == 200 { threads = SubscriptionTests.threadCount() }
          if [200, 1_100, 1_999].contains(round) {
            SubscriptionTests.returnFreeMemory()
            memory.append(SubscriptionTests.residentPages())
          }
        }
        try await eventually("expected about \(threads) threads, got \(SubscriptionTests.threadCount())") {
          SubscriptionTests.threadCount() <= threads + 8
        }
        let grown = (memory[2] - memory[1]) / 256
        let figures = memory.map { $0 / 256 }
        let stays = SubscriptionTests.isSanitized || grown <= 4
        #expect(stays, "expected the memory to stay as it is, got \(grown) MB more: \(figures)")
        isOver.withLock { $0 = true }
        await load
        await nats.close()
      }
    }

    /// Makes glibc's `malloc` give free memory back to the system, so that free memory does not
    /// count as growth.
    private static func returnFreeMemory() {
      guard let address = unsafe dlsym(nil, "malloc_trim") else { return }
      _ = unsafe unsafeBitCast(address, to: (@convention(c) (Int) -> Int32).self)(0)
    }

    /// Whether the thread sanitizer runs, which keeps memory that was freed.
    static var isSanitized: Bool { unsafe dlsym(nil, "__tsan_init") != nil }

    /// Returns the number of pages of 4 KiB that the process has in memory.
    static func residentPages() -> Int {
      let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
      return words.count > 1 ? Int(words[1]) ?? 0 : 0
    }

    private static func threadCount() -> Int {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }
  }
#endif
