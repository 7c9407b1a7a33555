// On Linux the type of a source is not marked Sendable; only `resume` is called here.
@preconcurrency import Dispatch
import Foundation

/// Waits for SIGINT and SIGTERM instead of ending at once.
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

  /// Waits for the first signal, or for the end of the task.
  func wait() async { for await _ in stream { return } }
}
