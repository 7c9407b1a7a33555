#if NATS
  import Eventing
  @testable import EventingNATS
  import Testing

  /// The record of failed attempts takes bounded memory.
  @Suite struct FailedAttemptTests {
    /// If the record lost the failures of a message, the message would get more attempts than its
    /// listening allows. So a full record removes only its oldest entries.
    @Test func onlyTheOldestFailuresAreForgotten() {
      let (failures, limit) = (FailedAttempts(), UInt64(FailedAttempts.limit))
      for position in 1...limit { failures.add("one", position) }
      failures.add("one", 1)
      failures.add("one", limit + 1)
      failures.add("one", limit + 2)
      #expect([1, 2, 3, limit, limit + 1, limit + 2].map { failures.count("one", $0) } == [0, 0, 1, 1, 1, 1])
      failures.remove("one", 3)
      failures.add("one", limit + 3)
      #expect([3, 4, limit + 3].map { failures.count("one", $0) } == [0, 1, 1])
    }

    @Test func handledMessagesTakeNoMemory() {
      let failures = FailedAttempts()
      failures.add("one", 1)  // is never removed
      for position in 2...(UInt64(FailedAttempts.limit) * 4) {
        failures.add("one", position)
        failures.remove("one", position)
      }
      #expect(failures.count("one", 1) == 1 && failures.keyCount <= 2 * FailedAttempts.limit)
    }
  }
#endif
