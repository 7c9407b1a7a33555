#if NATS
  import Eventing
  @testable import EventingNATS
  import Testing

  /// A subscription knows how many requested messages are still to come.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct StreamPullTests {
    /// The server serves open pulls (requests for messages) in turn, but here a message counts for
    /// the oldest pull. So the second pull may seem open although all its messages have come. If it
    /// seemed so until its deadline, the subscription would suspect that the consumer is lost.
    @Test func aPullThatTheServerHasServedEndsWithTheOneBefore() {
      var (pulls, now) = (StreamPulls(), ContinuousClock.now)
      let first = pulls.begin(room: 1_024, of: 1_024, now)
      for _ in 0..<256 { pulls.arrived() }
      let second = pulls.begin(room: 1_024, of: 1_024, now)
      #expect(first?.batch == 1_024 && second?.batch == 256)
      for _ in 0..<512 { pulls.arrived() }  // 256 of each pull
      pulls.end(1, unsent: 512)
      #expect(pulls.isEmpty)
      now += .seconds(60)
      let hasExpired = pulls.expire(now)
      #expect(!hasExpired)
    }

    /// The server may end the second pull (request for messages) while the first one is open. Here
    /// all messages counted for the first pull. So those of the second pull count for it now, and
    /// the first pull expects more.
    @Test func messagesThatCountedForAnotherPullMoveToIt() {
      let (pulls, now) = (Guarded(StreamPulls()), ContinuousClock.now)
      func room() -> Int? { pulls.withLock { $0.begin(room: 1_024, of: 1_024, now)?.batch } }
      #expect(room() == 1_024)
      pulls.withLock { pulls in for _ in 0..<256 { pulls.arrived() } }
      #expect(room() == 256)
      pulls.withLock { pulls in for _ in 0..<256 { pulls.arrived() } }  // 128 of each pull
      pulls.withLock { $0.end(2, unsent: 128) }
      #expect(room() == 384)  // of the first pull 640 are to come
      pulls.withLock { $0.endAll() }
      #expect(room() == 1_024)
      pulls.withLock { $0.end(1, unsent: 640) }  // pull 1 counts no more
      #expect(room() == nil)
    }
  }
#endif
