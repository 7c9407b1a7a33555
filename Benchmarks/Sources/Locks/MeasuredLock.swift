import Foundation
import Synchronization

/// A mutex that can be compared with others.
protocol MeasuredLock: ~Copyable, Sendable {
  /// The name in the table.
  static var title: String { get }
  init()
  /// Runs `body` while the lock is held.
  borrowing func locked(_ body: () -> Void)
}

/// A way to unlock a byte lock.
protocol Unlocking {
  /// The name in the table.
  static var title: String { get }
  static func unlock(_ word: borrowing Atomic<UInt8>)
}

/// Unlocks by a store with release order. Incorrect in Swift 6.3: the compiler may move a retain
/// past the store.
enum PlainStore: Unlocking {
  static let title = "byte, plain store (incorrect)"
  @inline(__always) static func unlock(_ word: borrowing Atomic<UInt8>) { word.store(0, ordering: .releasing) }
}

/// Unlocks by a release fence and a store with release order, as `Eventing` does.
enum FencedStore: Unlocking {
  static let title = "byte, fence and store"
  @inline(__always) static func unlock(_ word: borrowing Atomic<UInt8>) {
    atomicMemoryFence(ordering: .releasing)
    word.store(0, ordering: .releasing)
  }
}

/// Unlocks by a read-modify-write operation.
enum Exchange: Unlocking {
  static let title = "byte, exchange"
  @inline(__always) static func unlock(_ word: borrowing Atomic<UInt8>) { _ = word.exchange(0, ordering: .releasing) }
}

/// Unlocks by a store in a function that the compiler may neither inline nor analyse.
enum OpaqueStore: Unlocking {
  static let title = "byte, store in a function that is not inlined"
  @inline(never) @_optimize(none) static func unlock(_ word: borrowing Atomic<UInt8>) {
    word.store(0, ordering: .releasing)
  }
}

/// The mutex of `Eventing` on Linux (`Support/UnfairMutex.swift`), with a chosen way to unlock.
struct ByteLock<Unlock: Unlocking>: MeasuredLock, ~Copyable, Sendable {
  static var title: String { Unlock.title }
  private let word = Atomic<UInt8>(0)

  @inline(__always) borrowing func locked(_ body: () -> Void) {
    if !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { wait() }
    body()
    Unlock.unlock(word)
  }

  @inline(never) private borrowing func wait() {
    var round = 0
    while word.load(ordering: .relaxed) != 0
      || !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
    {
      round += 1
      guard round > 40 else { continue }
      if round < 1_000 { sched_yield() } else { usleep(50) }
    }
  }
}

/// The mutex of the standard library: a futex on Linux.
struct LibraryMutex: MeasuredLock, ~Copyable, Sendable {
  static let title = "`Synchronization.Mutex`"
  private let mutex = Mutex(())
  @inline(__always) borrowing func locked(_ body: () -> Void) { mutex.withLock { _ in body() } }
}

/// The mutex of the C library, allocated separately.
// Safe: the pointer never changes, and only the functions of pthread access the memory behind it.
struct ThreadMutex: MeasuredLock, ~Copyable, @unchecked Sendable {
  static let title = "`pthread_mutex_t`"
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    mutex = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
  }
  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @inline(__always) borrowing func locked(_ body: () -> Void) {
    pthread_mutex_lock(mutex)
    body()
    pthread_mutex_unlock(mutex)
  }
}
