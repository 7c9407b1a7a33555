#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
import Synchronization

/// In a debug build: tells of handlers that would wait for themselves (G16), once for each of them.
///
/// What they send is counted as deferred, and so nothing hangs; but whoever wrote the handler may have expected it to be done.
package enum CycleReport {
  #if DEBUG
    /// Where it is told; a test looks at it there.
    // Safe: guarded by `mutex`.
    nonisolated(unsafe) private static var sink: @Sendable (String) -> Void = { line in
      let bytes = Array(line.utf8)
      _ = unsafe write(2, bytes, bytes.count)
    }
    private static let mutex = UnfairMutex()

    /// Has it told elsewhere, too.
    package static func alsoTell(_ other: @escaping @Sendable (String) -> Void) {
      mutex.withLock {
        let before = unsafe sink
        unsafe sink = { line in
          before(line)
          other(line)
        }
      }
    }

    static func tell(_ sender: AnyLane, waitingFor others: [String]) {
      guard !sender.isReported.exchange(true, ordering: .relaxed) else { return }
      let sink = mutex.withLock { unsafe self.sink }
      sink(
        """
        eventing: \(sender.title) awaits what it sends, but that waits for \(others.joined(separator: " and ")), \
        which cannot go on before \(sender.title) has returned. It is not waited for, and counted as deferred. \
        (Told in debug builds, once for each handler.)

        """)
    }
  #endif
}
