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

  /// `SyncPoint.hook` belongs to the whole process, and tests run in parallel. So the trait
  /// ``usesSyncPoints`` sets it once, before any test runs, and it acts only on threads inside
  /// `watch`. No test sets it itself.
  enum SyncPoints {
    /// Only sync points of the calling thread.
    static func watch(_ onSyncPoint: @escaping (SyncPoint) -> Void, during body: () -> Void) {
      let watcher = Watcher(onSyncPoint)
      let before = unsafe pthread_getspecific(key)
      unsafe pthread_setspecific(key, Unmanaged.passUnretained(watcher).toOpaque())
      withExtendedLifetime(watcher, body)
      unsafe pthread_setspecific(key, before)
    }

    /// Yields at about every 16th sync point. Otherwise threads on two busy processors rarely
    /// overlap inside the library.
    static func stumble(_ seed: UInt64, during body: () -> Void) {
      var random = SeededGenerator(seed: seed)
      watch({ _ in if random.next() % 16 == 0 { giveWay() } }, during: body)
    }

    private final class Watcher {
      let onSyncPoint: (SyncPoint) -> Void
      init(_ onSyncPoint: @escaping (SyncPoint) -> Void) { self.onSyncPoint = onSyncPoint }
    }

    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      unsafe pthread_key_create(&key, nil)
      return key
    }()

    fileprivate static let install: Void =
      unsafe SyncPoint.hook = { edge in
        guard let watcher = unsafe pthread_getspecific(key) else { return }
        unsafe Unmanaged<Watcher>.fromOpaque(watcher).takeUnretainedValue().onSyncPoint(edge)
      }
  }

  struct SyncPointsTrait: SuiteTrait {
    fileprivate init() { SyncPoints.install }
  }

  extension Trait where Self == SyncPointsTrait {
    /// Sets `SyncPoint.hook` when the tests are discovered.
    static var usesSyncPoints: SyncPointsTrait { SyncPointsTrait() }
  }
#endif
