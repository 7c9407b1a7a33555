import BenchmarkKit
import CMeasure
import Eventing
import EventingInspection
import Foundation

/// Returns plain events, events that an inspection polls, and events that are traced.
///
/// The difference between the rows with 9 handlers and with 1 is the cost of 8 deliveries.
func eventingUnderInspection() -> [EventKind] {
  [0, 8].flatMap { others -> [EventKind] in
    let parameter = others == 0 ? "1 handler, inspection" : "\(1 + others) handlers, inspection"
    return [
      EventKind(parameter, "Eventing post / none") { cell in posting(to: event(cell, others), during: nil) },
      EventKind(parameter, "Eventing post / polled") { cell in
        let inspection = PolledInspection()  // created first, because it finds only later events
        return posting(to: event(cell, others), during: inspection)
      },
      EventKind(parameter, "Eventing post / traced") { cell in
        let event = event(cell, others)
        return posting(to: event, during: EventTrace(of: event))
      },
    ]
  }
}

/// Returns an event with the handler whose calls are checked, and others that do nothing.
private func event(_ cell: Cell, _ others: Int) -> Event<Int> {
  let event = Event<Int>()
  event.addHandler { cell.hit($0) }
  for _ in 0..<others { event.addHandler { _ in } }
  return event
}

/// Returns the loop of posts, which all rows share. The loop keeps `kept` alive.
private func posting(to event: Event<Int>, during kept: (any AnyObject & Sendable)?) -> BulkOperation {
  .sync { batch in
    for value in batch.values { event.post(value) }
    withExtendedLifetime(kept) {}
  }
}

/// An inspection that polls the events for a client, 20 times a second, which is the most that an
/// inspection allows. The inspection ends with this object.
///
/// Callgrind counts all threads, so under callgrind there is no client and no poll.
private final class PolledInspection: Sendable {
  private static let greeting = """
    {"id":1,"do":"hello","protocol":1,"client":"benchmark","control":false}
    {"id":2,"do":"subscribe","interval":50}

    """

  private let inspection: Inspection

  init() {
    do {
      inspection = try Inspection.serve(at: "/tmp/eventing-benchmarks-\(UUID().uuidString)")
      guard !cm_on_valgrind() else { return }
      precondition(cm_client_begin(inspection.path, Self.greeting) >= 0, "the inspection takes no client")
    } catch {
      fatalError("\(error)")
    }
  }

  deinit { inspection.end() }
}
