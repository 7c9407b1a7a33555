#if DEBUG
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif
  import Eventing
  import Testing

  /// Holds a thread between two steps of the library, by `SyncPoint.hook`, which exists in debug builds.
  ///
  /// The hook is the whole process's, and tests run in parallel: so it is set once, while the tests are discovered and none runs yet (by the trait
  /// ``usesEdges`` of the suites that need it), and it acts only on threads that asked for it. No test sets `SyncPoint.hook` itself.
  enum Edges {
    /// Calls `onEdge` whenever the calling thread passes an edge in `body`.
    static func watch(_ onEdge: @escaping (SyncPoint) -> Void, during body: () -> Void) {
      let watcher = Watcher(onEdge)
      let before = unsafe pthread_getspecific(key)
      unsafe pthread_setspecific(key, Unmanaged.passUnretained(watcher).toOpaque())
      withExtendedLifetime(watcher, body)
      unsafe pthread_setspecific(key, before)
    }

    /// Makes the calling thread stumble in `body`: at every 16th edge or so it lets others have its core, so that threads meet on two busy cores, too.
    static func stumble(_ seed: UInt64, during body: () -> Void) {
      var random = SeededGenerator(seed: seed)
      watch({ _ in if random.next() % 16 == 0 { giveWay() } }, during: body)
    }

    private final class Watcher {
      let onEdge: (SyncPoint) -> Void
      init(_ onEdge: @escaping (SyncPoint) -> Void) { self.onEdge = onEdge }
    }

    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      unsafe pthread_key_create(&key, nil)
      return key
    }()

    fileprivate static let install: Void =
      unsafe SyncPoint.hook = { edge in
        guard let watcher = unsafe pthread_getspecific(key) else { return }
        unsafe Unmanaged<Watcher>.fromOpaque(watcher).takeUnretainedValue().onEdge(edge)
      }
  }

  /// The suite holds threads at edges.
  struct EdgesTrait: SuiteTrait {
    fileprivate init() { Edges.install }
  }

  extension Trait where Self == EdgesTrait {
    /// Sets `SyncPoint.hook` when the tests are discovered.
    static var usesEdges: EdgesTrait { EdgesTrait() }
  }
#endif
