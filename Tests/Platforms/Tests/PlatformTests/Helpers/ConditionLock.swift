#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
import Testing

/// A value behind a mutex with a condition variable, so that a thread can block until another
/// thread has changed the value.
///
/// The thread sanitizer sees how this mutex and this condition variable order threads. It does not
/// see how a contended `Mutex` orders threads.
// Safe: `value` is accessed only while `mutex` is held.
@safe final class ConditionLock<Value: Sendable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  // Guarded by: mutex.
  private var value: Value

  init(_ value: Value) {
    self.value = value
    unsafe mutex = .allocate(capacity: 1)
    unsafe changed = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe changed.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(changed, nil)
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe changed.deallocate()
    unsafe mutex.deallocate()
  }

  /// Calls `body` with the value, then wakes all threads that wait for a change.
  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer {
      unsafe pthread_cond_broadcast(changed)
      unsafe pthread_mutex_unlock(mutex)
    }
    return try body(&value)
  }

  /// Blocks the thread until `isTrue` returns true for the value.
  ///
  /// After 200 seconds the wait ends and the test fails with a message. A hang would not show which
  /// wait failed.
  ///
  /// - Parameters:
  ///   - what: The name of the awaited change, for the message of the failure.
  ///   - file: The file that waits, for that message.
  ///   - line: The line in that file.
  @available(*, noasync) func wait(
    _ what: String, file: String = #fileID, line: Int = #line, until isTrue: (Value) -> Bool
  ) {
    var deadline = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += 200
    unsafe pthread_mutex_lock(mutex)
    var isLate = false
    while !isTrue(value), !isLate {
      isLate = unsafe pthread_cond_timedwait(changed, mutex, &deadline) != 0 && !isTrue(value)
    }
    unsafe pthread_mutex_unlock(mutex)
    if isLate { Issue.record("\(what) at \(file):\(line): a thread waited for 200 seconds in vain") }
  }
}
