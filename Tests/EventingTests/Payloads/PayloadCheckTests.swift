#if DEBUG
  import Testing

  @testable import Eventing

  /// Tests of the checks in debug builds on payloads whose type the compiler does not see.
  @Suite(.fewAtATime) struct PayloadCheckTests {
    // Three tests treat an `Int` payload as a `UInt`. Both types have eight bytes and no
    // references, so nothing would fail without the type check of debug builds. Only this check
    // makes the processes of these tests fail.

    @Test func readingAPayloadOfAnotherTypeStops() async {
      await #expect(processExitsWith: .failure) { lend(1) { print($0.payload(UInt.self)) } }
    }

    @Test func callingAHandlerWithAPayloadOfAnotherTypeStops() async {
      await #expect(processExitsWith: .failure) {
        let handler = HandlerClosure<UInt> { print($0) }.erased
        try lend(1) { try handler($0) }
      }
    }

    @Test func takingAPayloadOfAnotherTypeFromASequenceStops() async {
      await #expect(processExitsWith: .failure) {
        let event = Event<Int>()
        guard let payloads = event.payloads() as? PayloadSequence<Int> else { return }
        event.post(1)
        print(await SequenceIterator(payloads.hub).next(UInt.self, isolation: nil) ?? 0)
      }
      await #expect(processExitsWith: .failure) {
        let event = Event<Int>()
        guard let batches = event.batches(of: 1).payloads() as? PayloadSequence<[Int]> else { return }
        event.post(1)
        print(await SequenceIterator(batches.hub).next([UInt].self, isolation: nil)?.count ?? 0)
      }
    }

    @Test func readingAPayloadOfItsOwnTypeIsFine() async {
      await #expect(processExitsWith: .success) {
        let handler = HandlerClosure<Int> { print($0) }.erased
        try lend(1) { payload in
          try handler(payload)
          print(payload.payload(Int.self))
        }
        let event = Event<Int>()
        let payloads = try #require(event.payloads() as? PayloadSequence<Int>)
        event.post(1)
        let next = await SequenceIterator(payloads.hub).next(Int.self, isolation: nil)
        #expect(next == 1)
      }
    }

    @Test func destroyingAPayloadUnderAMutexStops() async {
      await #expect(processExitsWith: .failure) {
        UnfairMutex().withLock { _ = OwnedPayload(Kept()) }
      }
      await #expect(processExitsWith: .success) {
        #if !EVENTING_DOCUMENTED_ONLY
          // Destroying a payload without references runs no code of users. Only a build with the
          // runtime's SPI can tell which payloads have no references.
          UnfairMutex().withLock { _ = OwnedPayload(1) }
        #endif
        _ = OwnedPayload(Kept())
      }
    }

    private final class Kept: Sendable {}
  }
#endif
