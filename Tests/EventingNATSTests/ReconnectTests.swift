#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  @Suite(.serialized, .timeLimit(.minutes(2))) struct ReconnectTests {
    @Test func nothingIsLostWhenTheServerDiesAgainAndAgain() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .seconds(20))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      let handled = Guarded<[Int: Int]>([:])
      event.addHandler { number in handled.withLock { $0[number, default: 0] += 1 } }
      try await event.listen(as: "one")
      let isOver = Guarded(false)
      async let published = withThrowingTaskGroup(of: Int.self) { group in
        for publisher in 0..<4 {
          group.addTask {
            var count = 0
            while !isOver.withLock({ $0 }) {
              try await event.publish(publisher * 1_000_000 + count)
              count += 1
            }
            return count
          }
        }
        return try await group.reduce(0, +)
      }
      for _ in 0..<3 {
        let before = handled.withLock { $0.count }
        try await eventually("expected payloads after \(before)") { handled.withLock { $0.count } > before + 100 }
        server.end()
        try server.start()
      }
      isOver.withLock { $0 = true }
      let count = try await published
      try await eventually("expected \(count) payloads, got \(handled.withLock { $0.count })") {
        handled.withLock { $0.count } == count
      }
      // If a publish sends its message again, all copies have one id. So the stream stores no
      // message twice.
      let info = try await nats.plain.request(RemoteMessage(), to: "$JS.API.STREAM.INFO.TEST", within: .seconds(20))
      let stored = String(decoding: info.body, as: UTF8.self).firstMatch(of: /"messages":(\d+)/)?.output.1
      #expect(stored == "\(count)", "expected each of \(count) messages once in the stream")
      await nats.close()
    }

    @Test func theEndOfTheConnectionIsToldAndPlainListeningGoesOn() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      let kinds = Guarded<[TransportIncident.Kind]>([])
      nats.incidents.addHandler { incident in kinds.withLock { $0.append(incident.kind) } }
      let event = RemoteEvent<Int>("a", over: nats.plain)
      let sum = Guarded(0)
      event.addHandler { number in sum.withLock { $0 += number } }
      try await event.listen()
      try await event.publish(1)
      try await eventually("expected 1") { sum.withLock { $0 } == 1 }
      server.end()
      try await eventually("expected lost, got \(kinds.withLock { $0 })") { kinds.withLock { $0.contains(.lost) } }
      async let waiting = event.publish(2)  // waits for the server
      try server.start()
      _ = try await waiting
      try await eventually("expected 3, got \(sum.withLock { $0 })") { sum.withLock { $0 } == 3 }
      #expect(kinds.withLock { $0 } == [.lost, .reconnected])
      await nats.close()
    }

    @Test func aServerThatStaysAwayEndsEveryWait() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .milliseconds(300))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let event = RemoteEvent<Int>("test.a", over: stream)
      event.addHandler { _ in }
      let listening = try await event.listen(as: "one")
      server.end()
      let clock = ContinuousClock()
      let took = await clock.measure {
        for transport in [stream, nats.plain] {
          let error = await transportError { _ = try await transport.publish(RemoteMessage(), to: "test.a") }
          #expect(error?.code == .refused || error?.code == .mayBeStored)
        }
        let question = RemoteQuestion<Int, Int>("q", over: nats.plain)
        #expect(
          await transportError { _ = try await question.firstAnswer(to: 1, within: .milliseconds(200)) }?.code
            == .timedOut)
        await listening.drain(within: .milliseconds(200))
        await nats.close(within: .milliseconds(200))
      }
      #expect(took < .seconds(10), "took \(took)")
    }

    @Test func aFrozenServerBlocksNoThreadOfThePool() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .milliseconds(500))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      _ = try await stream.publish(RemoteMessage(), to: "test.a")
      server.freeze()
      let body = [UInt8](repeating: 1, count: 100_000)
      let codes = await withTaskGroup(of: TransportError.Code?.self) { group in
        for _ in 0..<200 {
          group.addTask {
            await transportError { _ = try await stream.publish(RemoteMessage(body: body), to: "test.a") }?.code
          }
        }
        return await group.reduce(into: [TransportError.Code?]()) { $0.append($1) }
      }
      #expect(codes.allSatisfy { $0 == .mayBeStored || $0 == .refused }, "\(Set(codes))")
      server.thaw()
      var receipt: Receipt?
      for _ in 0..<20 where receipt == nil { receipt = try? await stream.publish(RemoteMessage(), to: "test.a") }
      #expect(receipt?.position != nil)
      await nats.close()
    }

    /// If the connection was lost before the receipt of a message came, the server may have stored
    /// the message. After a close, the error of the publish must still say so.
    @Test func aCloseAfterALostReceiptSaysThatTheMessageMayBeStored() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .seconds(100))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      let engine = stream.engine
      server.freeze()
      async let error = transportError { _ = try await stream.publish(RemoteMessage(), to: "test.a") }
      try await eventually("expected a message that was sent") {
        !engine.pendingRequests.isEmpty && engine.sendQueue.isEmpty
      }
      server.end()
      try await eventually("expected a lost connection") { !engine.isConnected }
      try await eventually("expected that no receipt comes") { engine.pendingRequests.isEmpty }
      await nats.close()
      let found = await error
      #expect(found?.code == .mayBeStored, "\(found.map { "\($0)" } ?? "no error")")
    }

    /// A close may come after a call has found the connection open, and before the call begins to
    /// wait.
    @Test func noWaitForTheServerBeginsAfterAClose() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect()
      server.end()
      try await eventually("expected a lost connection") { !nats.engine.isConnected }
      let wait = nats.engine.beginWait(until: .now + .seconds(600))
      await nats.close(within: .zero)
      await wait?.value
      #expect(wait != nil && nats.engine.beginWait(until: .now + .seconds(600)) == nil)
      await nats.close()
    }

    /// The engine limits the total size of the messages that are not stored yet. A publisher may
    /// give up a message that still waits for the socket. Until the socket takes the message, its
    /// size counts towards the limit.
    @Test func storesThatAFrozenServerHoldsUpKeepTheirRoom() async throws {
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .milliseconds(500))
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      _ = try await stream.publish(RemoteMessage(), to: "test.a")
      server.freeze()
      let body = [UInt8](repeating: 1, count: 1_000_000)
      var errors: [TransportError] = []
      for _ in 0..<2 {  // 66 messages of 1 MB fill the limit of 64 MiB
        errors += await withTaskGroup(of: TransportError?.self) { group in
          for _ in 0..<66 {
            group.addTask {
              await transportError { _ = try await stream.publish(RemoteMessage(body: body), to: "test.a") }
            }
          }
          return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
        }
      }
      let refused = errors.filter { $0.code == .refused && $0.description.contains("expected room") }
      #expect(errors.count == 132 && refused.count > 33, "\(refused.count) of \(errors.count)")
      server.thaw()
      var receipt: Receipt?
      for _ in 0..<50 where receipt == nil {
        receipt = try? await stream.publish(RemoteMessage(body: body), to: "test.a")
      }
      #expect(receipt?.position != nil)
      await nats.close()
    }

    /// Plain messages wait for a frozen server in a queue of bounded size. When the queue is full,
    /// their publisher waits, too.
    @Test func aPlainPublisherWaitsForAFrozenServer() async throws {
      let server = try NATSServer(hasStreams: false)
      let nats = try await server.connect(publishTimeout: .milliseconds(500))
      server.freeze()
      let body = [UInt8](repeating: 1, count: 100_000)
      var (count, error) = (0, TransportError?.none)
      while count < 2_000, error == nil {
        error = await transportError { _ = try await nats.plain.publish(RemoteMessage(body: body), to: "a") }
        count += 1
      }
      #expect(error?.code == .refused, "after \(count): \(error.map { "\($0)" } ?? "no error")")
      server.thaw()
      let received = Guarded(0)
      let event = RemoteEvent<Int>("b", over: nats.plain)
      event.addHandler { number in received.withLock { $0 = number } }
      var listening: Listening?
      for _ in 0..<50 where listening == nil { listening = try? await event.listen() }
      for _ in 0..<50 where received.withLock({ $0 }) == 0 {
        _ = try? await event.publish(7)
        try await Task.sleep(for: .milliseconds(50))
      }
      #expect(received.withLock { $0 } == 7)
      await nats.close()
    }
  }
#endif
