#if DEBUG
  import Eventing
  import Testing

  /// Tests that hold a thread at a sync point are extensions of this suite, so that they run one
  /// after the other.
  @Suite(.serialized, .usesSyncPoints, .fewAtATime) struct SyncPointTests {}

  /// Holds the first thread that passes a given sync point, until `release()`.
  final class Hold: Sendable {
    /// Opens when the thread has reached the sync point.
    let reached = Gate()
    private let released = Gate()
    private let edge: SyncPoint

    init(at edge: SyncPoint) { self.edge = edge }

    func release() { released.open() }

    /// The calling thread waits at the sync point until another thread calls `release()`.
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
