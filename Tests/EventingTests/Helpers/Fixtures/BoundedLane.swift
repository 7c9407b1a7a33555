import Dispatch
import Eventing
import Testing

enum BoundedLane: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case background, queue, inOrder, backgroundAsync, concurrent, main, mainAsync

  /// Its calls wait at the gate after `body`.
  func handler<Payload: Sendable>(
    _ buffering: Buffering, until gate: Gate, _ body: @escaping @Sendable (Payload) -> Void
  ) -> Handler<Payload> {
    let sync: @Sendable (Payload) -> Void = { number in
      body(number)
      gate.wait()
    }
    let async: @Sendable (Payload) async -> Void = { number in
      body(number)
      await gate.opened()
    }
    return switch self {
    case .background: Handler(.buffering(buffering), on: .background, perform: sync)
    case .queue: Handler(.buffering(buffering), on: .queue(DispatchQueue(label: "bounded")), perform: sync)
    case .inOrder: Handler(.buffering(buffering), on: .inOrder, perform: async)
    case .backgroundAsync: Handler(.buffering(buffering), on: .inOrder(priority: .utility), perform: async)
    case .concurrent: Handler(.buffering(buffering), on: .concurrent(limit: 1), perform: async)
    case .main: Handler(.buffering(buffering), on: .main) { sync($0) }
    case .mainAsync: Handler(.buffering(buffering), on: .main) { await async($0) }
    }
  }

  var testDescription: String { rawValue }
}
