#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Each takes up to 7 KB of stack in a debug build, and a thread may have 512 KB or less. From
/// ``limit`` on, a chain of events that post or forward to the next one goes on on the next event's
/// own queue, with a new stack.
@usableFromInline enum DeliveryDepth {
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

  static var isTooDeep: Bool { unsafe ofThread.pointee >= limit }
}

extension EventCore {
  /// The thread is outside afterwards, so a later ``leave(_:)`` does nothing. Isolation: core.
  func setAside(_ payload: BorrowedPayload, _ completion: Completion?) {
    let pendingWork = pendingWork
    unsafe pendingWork.batch.append(.occurrence(by: Drainer.queue, completion), payload)
    handOff(pendingWork)
  }

  /// Isolation: core.
  func mustSetAside(_ cursor: DeliveryCursor) -> Bool {
    guard DeliveryDepth.isTooDeep, cursor.error == nil, cursor.index == 0, unsafe cursor.bucket == table.first else {
      return false
    }
    sequence &-= 1  // the delivery on the event's queue counts the occurrence
    return true
  }
}
