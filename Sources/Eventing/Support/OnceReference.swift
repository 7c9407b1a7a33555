public import Synchronization

/// Used instead of `AtomicLazyReference`, whose `load()` isn't inlined and took 40 of the 60 ns for
/// adding and removing a handler on x86-64 Linux.
@safe @usableFromInline package struct OnceReference<Object: AnyObject>: ~Copyable {
  // Safe: `set(_:)` retains the object, and only `deinit` releases it.
  @usableFromInline let storage = unsafe Atomic<Unmanaged<Object>?>(nil)

  @inlinable init() {}
  @inlinable deinit { unsafe storage.load(ordering: .acquiring)?.release() }

  @inlinable @inline(__always) package borrowing func load() -> Object? {
    unsafe storage.load(ordering: .acquiring)?.takeUnretainedValue()
  }

  /// Doesn't retain the object, because threads that share it would contend for its reference
  /// count.
  @inlinable @inline(__always) borrowing func lend() -> Unmanaged<Object>? { unsafe storage.load(ordering: .acquiring) }

  @inline(never) borrowing func set(_ object: Object) -> Object {
    let new = unsafe Unmanaged.passRetained(object)
    let (done, old) = unsafe storage.compareExchange(expected: nil, desired: new, ordering: .acquiringAndReleasing)
    guard !done, let old = unsafe old else { return object }
    unsafe new.release()
    return unsafe old.takeUnretainedValue()
  }

  @inlinable @inline(__always) borrowing func isSame(as object: Object) -> Bool {
    unsafe storage.load(ordering: .acquiring)?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
  }
}

extension OnceReference: Sendable where Object: Sendable {}
