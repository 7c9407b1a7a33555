#if NATS
  import Eventing
  @testable import EventingNATS
  import Testing

  /// The record of returned deliveries takes bounded memory.
  @Suite struct ReleasedDeliveryTests {
    /// A *release* returns a message to the server without a failure of a handler. If the record
    /// lost the releases of a message, the returned deliveries would count as failed attempts, and
    /// the message would become a dead letter too soon. So a full record removes only its oldest
    /// entries.
    @Test func onlyTheOldestReleasesAreForgotten() {
      let (released, limit) = (ReleasedDeliveries(), UInt64(ReleasedDeliveries.limit))
      for position in 1...limit { released.add("one", position) }
      released.add("one", 1)
      released.add("one", limit + 1)
      released.add("one", limit + 2)
      #expect([1, 2, 3, limit, limit + 1, limit + 2].map { released.count("one", $0) } == [0, 0, 1, 1, 1, 1])
      released.remove("one", 3)
      released.add("one", limit + 3)
      #expect([3, 4, limit + 3].map { released.count("one", $0) } == [0, 1, 1])
    }

    @Test func handledMessagesTakeNoMemory() {
      let released = ReleasedDeliveries()
      released.add("one", 1)  // is never removed
      for position in 2...(UInt64(ReleasedDeliveries.limit) * 4) {
        released.add("one", position)
        released.remove("one", position)
      }
      #expect(released.count("one", 1) == 1 && released.keyCount <= 2 * ReleasedDeliveries.limit)
    }
  }
#endif
