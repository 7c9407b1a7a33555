#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The number of deliveries on the slow path that the calling thread has begun, each inside a
/// handler of the one before, and has not ended.
///
/// Each takes up to 7 KB of stack in a debug build, and a thread may have 512 KB or less. So from a
/// depth of ``limit`` on, a chain of events whose handlers post to the next one, or that forward to
/// it, goes on on the next event's own queue, which begins a new stack.
@usableFromInline enum DeliveryDepth {
  /// The depth at which an event hands an occurrence off to its own queue.
  static let limit = 32

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = unsafe pthread_key_create(&key) { cell in
      // Not optional on Darwin.
      let cell: UnsafeMutableRawPointer? = unsafe cell
      unsafe cell?.deallocate()
    }
    precondition(error == 0, "expected a key for a value of each thread; pthread_key_create returned \(error)")
    return key
  }()

  /// The depth of the calling thread, in memory that belongs to the thread.
  @inline(__always) static var ofThread: UnsafeMutablePointer<Int> {
    // Safe: only `makeCell()` stores a value for the key.
    unsafe pthread_getspecific(key).map { unsafe UnsafeMutablePointer(OpaquePointer($0)) } ?? makeCell()
  }

  @inline(never) private static func makeCell() -> UnsafeMutablePointer<Int> {
    let cell = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    unsafe cell.initialize(to: 0)
    _ = unsafe pthread_setspecific(key, cell)
    return unsafe cell
  }

  /// Whether a further delivery must not begin on the calling thread's stack.
  static var isTooDeep: Bool { unsafe ofThread.pointee >= limit }
}

extension EventCore {
  /// Hands an occurrence off to the event's own queue, because the calling thread is too deep in
  /// deliveries. The thread has entered the idle event, and is outside afterwards: a later
  /// ``leave(_:)`` does nothing. Isolation: core.
  ///
  /// Items that other threads have enqueued meanwhile come after the occurrence.
  func setAside(_ payload: BorrowedPayload, _ completion: Completion?) {
    let pendingWork = pendingWork
    unsafe pendingWork.batch.append(.occurrence(by: Drainer.queue, completion), payload)
    handOff(pendingWork)
  }

  /// Whether an occurrence that this thread has begun to deliver has reached no handler yet, and
  /// must be set aside. Isolation: core.
  func mustSetAside(_ cursor: DeliveryCursor) -> Bool {
    guard DeliveryDepth.isTooDeep, cursor.error == nil, cursor.index == 0, unsafe cursor.bucket == table.first else {
      return false
    }
    sequence &-= 1  // the delivery on the event's queue counts the occurrence
    return true
  }
}
