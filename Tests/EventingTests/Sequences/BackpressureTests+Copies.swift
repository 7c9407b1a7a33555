#if DEBUG
  @testable import Eventing
  import Testing

  extension BackpressureTests {
    /// Checks a send that begins before the first iterator is made, and whose payload arrives
    /// afterwards. When the send begins, the only buffer is the origin, the buffer that each new
    /// iterator copies. So the send waits for room in the origin, and not in the buffer of the
    /// first iterator. The buffer of the second iterator is a copy of the origin. The send must not
    /// wait for room in this copy, too.
    @Test func aSendThatMissedTheFirstIteratorWaitsInOneCopyOnly() {
      let hub = SequenceHub(.suspendingSender(1), Int.self)
      let first = hub.makeBuffer()
      let completion = Completion(.ticket)
      func bring(_ number: Int, to buffer: IteratorBuffer, _ sender: WaitingSender?) {
        var dropped = PayloadQueue<PayloadAlone>(Int.self)
        hub.mutex.withLock { lend(number) { _ = buffer.bounded.append($0, isSend: true, sender, &dropped) } }
      }
      guard let origin = hub.mutex.withLock({ hub.origin }) else {
        Issue.record("nothing was taken yet")
        return
      }
      for buffer in [first, origin] { bring(1, to: buffer, nil) }
      bring(2, to: first, nil)
      bring(2, to: origin, WaitingSender(completion: completion, node: origin))
      let second = hub.makeBuffer()
      let counts = hub.mutex.withLock { [first, second, origin].map { $0.bounded.takeSenders().count } }
      #expect(counts == [0, 0, 1])
    }
  }
#endif
