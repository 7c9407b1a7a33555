import Eventing
import EventingTransport
import Testing

/// Listenings that end at any time, on real threads: nothing is lost, and nothing is left behind.
@Suite(.timeLimit(.minutes(10))) struct LoadTests {
  @Test func listeningsThatEndUnderLoadLoseNothing() async throws {
    let bus = InMemoryTransport()
    let sender = RemoteEvent<[UInt8]>("numbers", over: bus, codec: .bytes)
    let handled = Guarded<Set<Int>>([])
    @Sendable func makeMember() -> RemoteEvent<[UInt8]> {
      let member = RemoteEvent<[UInt8]>("numbers", over: bus, codec: .bytes)
      member.addHandler { body async in
        await Task.yield()
        handled.withLock { _ = $0.insert(Int(String(decoding: body, as: UTF8.self)) ?? -1) }
      }
      return member
    }
    weak var first: RemoteEvent<[UInt8]>?
    let published = Task {
      for number in 0..<1_000 { try await sender.publish(Array("\(number)".utf8)) }
    }
    for round in 0..<300 {
      let member = makeMember()
      if round == 0 { first = member }
      let listening = try await member.listen(as: "one", startingAt: .first, inFlight: 8)
      await Task.yield()
      switch round % 4 {
      case 0: listening.cancel()
      case 1: await listening.drain(within: .milliseconds(1))
      case 2: member.finish()
      default: break  // the listening ends when `member` is released
      }
    }
    try await published.value
    let last = makeMember()
    try await last.listen(as: "one", startingAt: .first)
    while handled.withLock({ $0.count }) < 1_000 { await Task.yield() }
    #expect(handled.withLock { $0 } == Set(0..<1_000))
    #expect(first == nil)
  }
}
