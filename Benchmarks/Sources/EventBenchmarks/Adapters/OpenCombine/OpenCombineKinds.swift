import BenchmarkKit
import OpenCombine

/// Returns the subjects and operators of OpenCombine that correspond to swift-eventing's kinds of
/// events.
func openCombineKinds() -> [EventKind] {
  [
    EventKind("last value replayed", "OpenCombine CurrentValueSubject") { cell in
      let held = Held(CurrentValueSubject<Int, Never>(0))
      held.token = held.subject.sink { cell.hit($0) }
      return .sync { batch in for value in batch.values { held.subject.send(value) } }
    },
    EventKind("value set, 0 handlers", "OpenCombine @Published") { cell in
      let model = Held(Model())
      return .sync { batch in
        for value in batch.values {
          model.subject.value = value
          cell.hit(value)
        }
      }
    },
    EventKind("value set, 1 handler", "OpenCombine @Published") { cell in
      let model = Held(Model())
      model.token = model.subject.$value.dropFirst().sink { cell.hit($0) }
      return .sync { batch in for value in batch.values { model.subject.value = value } }
    },
    EventKind("map.filter", "OpenCombine map.filter") { cell in
      let held = Held(PassthroughSubject<Int, Never>())
      held.token = held.subject.map { $0 &+ 1 }.filter { $0 > 0 }.sink { cell.hit($0 &- 1) }
      return .sync { batch in for value in batch.values { held.subject.send(value) } }
    },
    EventKind("by key, Int", "OpenCombine filter") { cell in
      let held = Held(PassthroughSubject<(Int, Int), Never>())
      held.token = held.subject.filter { $0.0 == 7 }.sink { cell.hit($0.1) }
      return .sync { batch in for value in batch.values { held.subject.send((7, value)) } }
    },
  ]
}

private final class Model {
  @OpenCombine.Published var value = 0
}

/// Owns a subject and its subscription.
// Safe: one thread at a time uses it.
private final class Held<Subject>: @unchecked Sendable {
  let subject: Subject
  var token: AnyCancellable?
  init(_ subject: Subject) { self.subject = subject }
}
