#if DEBUG
  import Eventing
  import Testing

  /// The parent suite of all tests that hold a thread at a sync point of the library.
  ///
  /// Such tests are in extensions of this suite, because the suite runs them one after the other.
  @Suite(.serialized, .usesSyncPoints, .fewAtATime, .timeLimit(.minutes(30))) struct SyncPointTests {}

  /// Holds a thread the first time that it passes a given sync point, until `release()` is called.
  final class Hold: Sendable {
    /// The gate that opens when the thread has reached the sync point.
    let reached = Gate()
    private let released = Gate()
    private let edge: SyncPoint

    init(at edge: SyncPoint) { self.edge = edge }

    func release() { released.open() }

    /// Runs `body` on the calling thread. When `body` first passes the sync point, the thread waits
    /// there until another thread calls `release()`, and then goes on with `body`.
    func during(_ body: () -> Void) {
      SyncPoints.watch(
        { [self] edge in
          guard edge == self.edge, !reached.isOpen else { return }
          reached.open()
          released.wait()
        }, during: body)
    }
  }
#endif
