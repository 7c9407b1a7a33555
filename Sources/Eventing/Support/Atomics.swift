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

/// A lock-free stack, emptied in one step. Pushing releases nothing, so it's allowed under a mutex.
@safe struct AtomicStack<Element: Sendable>: ~Copyable, Sendable {
  @safe private final class Node: Sendable {
    let element: Element
    /// The node below. Set before this node is pushed. Safe: each node retains the one below.
    let next = unsafe Atomic<Unmanaged<Node>?>(nil)

    init(_ element: Element) { self.element = element }
  }

  // Safe: the stack retains the first node. Only the thread that took all nodes out releases them.
  private let first = unsafe Atomic<Unmanaged<Node>?>(nil)

  deinit { _ = takeAll() }

  var isEmpty: Bool { unsafe first.load(ordering: .acquiring) == nil }

  borrowing func push(_ element: Element) {
    let node = Node(element)
    let new = unsafe Unmanaged.passRetained(node)
    var below = unsafe first.load(ordering: .relaxed)
    while true {
      unsafe node.next.store(below, ordering: .relaxed)
      let (done, now) = unsafe first.compareExchange(
        expected: below, desired: new, ordering: .acquiringAndReleasing)
      if done { return }
      unsafe below = now
    }
  }

  borrowing func takeAll() -> [Element] {
    var elements: [Element] = []
    var next = unsafe first.exchange(nil, ordering: .acquiringAndReleasing)
    while let taken = unsafe next {
      let node = unsafe taken.takeRetainedValue()
      elements.append(node.element)
      unsafe next = node.next.load(ordering: .relaxed)
    }
    elements.reverse()
    return elements
  }
}

/// Padding that keeps the fields before and after it on different cache lines (64 bytes).
struct CacheLine {
  private let bytes: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
