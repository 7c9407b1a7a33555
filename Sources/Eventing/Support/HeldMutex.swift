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

  @usableFromInline enum HeldMutex {
    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      let error = unsafe pthread_key_create(&key, nil)
      precondition(error == 0, "expected a key for a value of each thread; pthread_key_create returned \(error)")
      return key
    }()

    @usableFromInline static var isHeld: Bool {
      get { unsafe pthread_getspecific(key) != nil }
      set { _ = unsafe pthread_setspecific(key, newValue ? UnsafeRawPointer(bitPattern: 1) : nil) }
    }
  }
#endif

/// No thread holds two mutexes at once, and no user code runs under one. Nor are weak references
/// read under one, because the object could lose all other references during the read, and its
/// `deinit` would run under the mutex.
@inlinable @inline(__always) package func assertNoMutexIsHeld(_ action: @autoclosure () -> StaticString) {
  #if DEBUG
    if HeldMutex.isHeld { preconditionFailure("expected to \(action()) while no mutex is held; this thread holds one") }
  #endif
}
