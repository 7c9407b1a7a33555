#if DEBUG
  @testable import Eventing
  import Testing

  extension RoomTests {
    /// Between a look for iterators and what it brings, a send may be overtaken by the first iterator: then it waits beside that, where a second one begins.
    @Test func aSendThatMissedTheFirstIteratorWaitsInOneCopyOnly() {
      let channel = Channel(.suspendingSender(1), Int.self)
      let first = channel.makeInlet()
      let flight = Flight(.ticket)
      func bring(_ number: Int, to inlet: Inlet, _ sender: WaitingSender?) {
        var dropped = PayloadQueue<PayloadAlone>(Int.self)
        channel.lock.withLock { lend(number) { _ = inlet.inbox.append($0, isSend: true, sender, &dropped) } }
      }
      guard let origin = channel.lock.withLock({ channel.origin }) else {
        Issue.record("nothing was taken yet")
        return
      }
      for inlet in [first, origin] { bring(1, to: inlet, nil) }
      bring(2, to: first, nil)
      bring(2, to: origin, WaitingSender(flight: flight, node: origin))
      let second = channel.makeInlet()
      let counts = channel.lock.withLock { [first, second, origin].map { $0.inbox.takeSenders().count } }
      #expect(counts == [0, 0, 1])
    }
  }
#endif
