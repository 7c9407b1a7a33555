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

/// No task hangs, but the author may expect the deferred handlers to have run (G16).
package enum CycleReport {
  #if DEBUG
    /// Guarded by: mutex.
    // Safe: guarded by `mutex`.
    nonisolated(unsafe) private static var sink: @Sendable (String) -> Void = { line in
      let bytes = Array(line.utf8)
      _ = unsafe write(2, bytes, bytes.count)
    }
    private static let mutex = UnfairMutex()

    package static func alsoTell(_ other: @escaping @Sendable (String) -> Void) {
      mutex.withLock {
        let before = unsafe sink
        unsafe sink = { line in
          before(line)
          other(line)
        }
      }
    }

    static func tell(_ sender: DeliveryTarget, waitingFor others: [String]) {
      guard !sender.isReported.exchange(true, ordering: .relaxed) else { return }
      let sink = mutex.withLock { unsafe self.sink }
      sink(
        """
        eventing: \(sender.title) waits for an event, by send or quiesce, but that waits for \
        \(others.joined(separator: " and ")), which cannot go on before \(sender.title) has returned. It is not waited \
        for; a report counts it as deferred. \
        (Told in debug builds, once for each handler.)

        """)
    }
  #endif
}
