import Eventing
import Synchronization

/// The calls that a test has noted, in order.
final class Notes: Sendable {
  private let noted = Mutex<[String]>([])

  var all: [String] { noted.withLock { $0 } }
  func note(_ text: String) { noted.withLock { $0.append(text) } }
}

/// Returns when an event has a handler, such as that of a loop that has begun.
func untilHeard<Payload>(_ event: Event<Payload>) async {
  while !event.hasHandlers { await Task.yield() }
}
