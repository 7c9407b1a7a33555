// On Linux the type of a dispatch source is not marked Sendable; only its `resume` is called here.
@preconcurrency import Dispatch
import Foundation
import Synchronization

/// Catches the first SIGINT, SIGTERM or SIGHUP, which would otherwise end the process at once. The
/// next one ends it: what the program does last may wait for an app that hangs.
final class Signals: Sendable {
  private let sources: [any DispatchSourceSignal]
  private let stream: AsyncStream<Void>

  init() {
    signal(SIGPIPE, SIG_IGN)
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.stream = stream
    let isFirst = Mutex(true)
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler {
        let wasFirst = isFirst.withLock { first in
          defer { first = false }
          return first
        }
        if !wasFirst { _exit(128 + number) }
        continuation.yield()
      }
      source.resume()
      return source
    }
  }

  /// Returns when the first of the signals arrives, or when the task is cancelled.
  func wait() async { for await _ in stream { return } }
}
