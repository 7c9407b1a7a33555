import BenchmarkKit
import Eventing
import Observation

/// Returns the kinds of events of swift-eventing that are compared besides the plain event, such as
/// events by key and observed values. Each is written as users write it.
func eventingKinds() -> [EventKind] {
  [
    EventKind("by key, Int", "Eventing KeyedEvent") { cell in
      let event = KeyedEvent<Int, Int>()
      event[7].addHandler { cell.hit($0) }
      return .sync { batch in for value in batch.values { event.post(value, to: 7) } }
    },
    EventKind("by key, String", "Eventing KeyedEvent") { cell in
      let event = KeyedEvent<String, Int>(), key = "seven"
      event[key].addHandler { cell.hit($0) }
      return .sync { batch in for value in batch.values { event.post(value, to: key) } }
    },
    EventKind("last value replayed", "Eventing replaying .current") { cell in
      let event = Event(replaying: .current(0))
      event.addHandler { cell.hit($0) }
      return .sync { batch in for value in batch.values { event.post(value) } }
    },
    EventKind("value set, 0 handlers", "Eventing Observed") { cell in
      let observed = Observed(0)
      return .sync { batch in
        for value in batch.values {
          observed.value = value
          cell.hit(value)
        }
      }
    },
    EventKind("value set, 1 handler", "Eventing Observed, new values") { cell in
      let observed = Observed(0)
      observed.newValues.addHandler { cell.hit($0) }
      return .sync { batch in for value in batch.values { observed.value = value } }
    },
    EventKind("value set, 1 handler", "Eventing Observed, old and new value") { cell in
      let observed = Observed(0)
      observed.changes().addHandler { cell.hit($0.new) }
      return .sync { batch in for value in batch.values { observed.value = value } }
    },
    EventKind("value read, nothing tracked", "Eventing Observed") { cell in
      let observed = Observed(0)
      return .sync { batch in
        for value in batch.values { cell.hit(observed.value &+ value) }
      }
    },
    EventKind("map.filter", "Eventing map.filter") { cell in
      let event = Event<Int>()
      event.map { $0 &+ 1 }.filter { $0 > 0 }.addHandler { cell.hit($0 &- 1) }
      return .sync { batch in for value in batch.values { event.post(value) } }
    },
    EventKind("with an owner", "Eventing owner") { cell in
      let event = Event<Int>(), owner = Holder()
      event.addHandler(owner: owner) { _, value in cell.hit(value) }
      return .sync { batch in
        for value in batch.values { event.post(value) }
        withExtendedLifetime(owner) {}
      }
    },
    EventKind("throttled, dropped", "Eventing throttled") { cell in
      let event = Event<Int>()
      event.addHandler(.throttled(every: .seconds(3_600))) { (_: Int) in }
      event.post(0)  // begins the hour in which the handler receives only the last payload
      return .sync { batch in
        for value in batch.values {
          event.post(value)
          cell.hit(value)
        }
      }
    },
    EventKind(".main, from the main queue", "Eventing .main") { cell in
      let event = Event<Int>()
      event.addHandler(on: .main) { cell.hit($0) }
      return .async { @MainActor batch in for value in batch.values { event.post(value) } }
    },
    EventKind("forwarded", "Eventing forward") { cell in
      let event = Event<Int>(), target = Event<Int>()
      target.addHandler { cell.hit($0) }
      event.forward(to: target, strongly: true)
      return .sync { batch in for value in batch.values { event.post(value) } }
    },
    EventKind("bus by type", "Eventing EventBus") { cell in
      let bus = EventBus()
      bus.event(for: Int.self).addHandler { cell.hit($0) }
      return .sync { batch in for value in batch.values { bus.post(value) } }
    },
    EventKind("question", "Eventing Question") { cell in
      let question = EventQuestion<Int, Int>()
      question.addResponder { value in
        cell.hit(value)
        return value
      }
      return .async { batch in for value in batch.values { _ = try? await question.firstAnswer(to: value) } }
    },
    // This row comes after the other rows of observed values. From the first tracked read on, the
    // whole process counts as one that uses Observation, which changes the cost of all reads.
    EventKind("value read, others tracked", "Eventing Observed") { cell in
      let observed = Observed(0), other = Observed(0)
      withObservationTracking {
        _ = other.value
      } onChange: {
      }
      return .sync { batch in
        for value in batch.values { cell.hit(observed.value &+ value) }
        withExtendedLifetime(other) {}
      }
    },
  ] + eventingUnderInspection()
}

private final class Holder: Sendable {}
