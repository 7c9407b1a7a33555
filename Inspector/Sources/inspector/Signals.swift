// On Linux the type of a dispatch source is not marked Sendable; only its `resume` is called here.
@preconcurrency import Dispatch
import Foundation

/// Catches SIGINT, SIGTERM and SIGHUP, which would otherwise end the process at once.
final class Signals: Sendable {
  private let sources: [any DispatchSourceSignal]
  private let stream: AsyncStream<Void>

  init() {
    signal(SIGPIPE, SIG_IGN)
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.stream = stream
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { continuation.yield() }
      source.resume()
      return source
    }
  }

  /// Returns when the first of the signals arrives, or when the task is cancelled.
  func wait() async { for await _ in stream { return } }
}
