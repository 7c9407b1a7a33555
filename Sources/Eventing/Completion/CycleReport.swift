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

/// Reports, in a debug build, handlers that would wait for themselves (G16), once for each handler.
///
/// No task hangs: the send of such a handler does not wait for the handlers that wait for this
/// send, and its report counts these as deferred. But the author of the sending handler may expect
/// the deferred handlers to have run.
package enum CycleReport {
  #if DEBUG
    /// Writes a report, by default to standard error. Guarded by: mutex.
    // Safe: guarded by `mutex`.
    nonisolated(unsafe) private static var sink: @Sendable (String) -> Void = { line in
      let bytes = Array(line.utf8)
      _ = unsafe write(2, bytes, bytes.count)
    }
    private static let mutex = UnfairMutex()

    /// Passes the reports to another closure, too. Tests use this.
    package static func alsoTell(_ other: @escaping @Sendable (String) -> Void) {
      mutex.withLock {
        let before = unsafe sink
        unsafe sink = { line in
          before(line)
          other(line)
        }
      }
    }

    /// Reports a handler whose send or quiesce does not wait for some lanes, because the calls
    /// there wait for that handler. Does nothing if the handler was reported before.
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
