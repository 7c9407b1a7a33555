import Eventing
import Synchronization

/// The texts that a test and its handlers have noted, in order.
final class Notes: Sendable {
  private let noted = Mutex<[String]>([])

  var all: [String] { noted.withLock { $0 } }
  func note(_ text: String) { noted.withLock { $0.append(text) } }
}

/// Returns when an event has a handler, such as the one that `payloads()` adds for a loop.
func untilHeard<Payload>(_ event: Event<Payload>) async {
  while event.handlerCount == 0 { await Task.yield() }
}
