#if DEBUG
  import Eventing
  import Testing

  /// The parent of all tests that hold a thread between two steps of the library: `extension SyncPointTests { @Test … }`.
  @Suite(.serialized, .usesEdges, .fewAtATime, .timeLimit(.minutes(30))) struct SyncPointTests {}

  /// Holds a thread where it passes an edge for the first time, until it is let go.
  final class Hold: Sendable {
    /// Open when the thread is there.
    let reached = Gate()
    private let released = Gate()
    private let edge: SyncPoint

    init(at edge: SyncPoint) { self.edge = edge }

    func release() { released.open() }

    /// Runs `body` on the calling thread, which is held where it passes the edge.
    func during(_ body: () -> Void) {
      Edges.watch(
        { [self] edge in
          guard edge == self.edge, !reached.isOpen else { return }
          reached.open()
          released.wait()
        }, during: body)
    }
  }
#endif
