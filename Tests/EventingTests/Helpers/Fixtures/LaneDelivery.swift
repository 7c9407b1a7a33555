import Dispatch
import Eventing
import Testing

/// For guarantees that hold for all lanes.
enum LaneDelivery: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case background, queue, inOrder, concurrent, task

  /// Its calls wait at the gate after `body`.
  func handler(_ queue: DispatchQueue, until gate: Gate = .open, _ body: @escaping @Sendable () -> Void) -> Handler<Int>
  {
    let sync: @Sendable (Int) -> Void = { _ in
      body()
      gate.wait()
    }
    let async: @Sendable (Int) async -> Void = { _ in
      body()
      await gate.opened()
    }
    return switch self {
    case .background: Handler(on: .background, perform: sync)
    case .queue: Handler(on: .queue(queue), perform: sync)
    case .inOrder: Handler(on: .inOrder, perform: async)
    case .concurrent: Handler(on: .concurrent(limit: 4), perform: async)
    case .task: Handler(on: .task, perform: async)
    }
  }

  var testDescription: String { rawValue }
}

extension Gate {
  static var open: Gate {
    let gate = Gate()
    gate.open()
    return gate
  }
}
