import Dispatch
import Eventing
import Testing

/// The kinds of lanes that can be bounded.
enum BoundedLane: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case background, queue, inOrder, backgroundAsync, concurrent, main, mainAsync

  /// Returns a handler whose calls run `body` and then wait until the gate is open.
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
    case .background: Handler(on: .background(buffering: buffering), sync)
    case .queue: Handler(on: .queue(DispatchQueue(label: "bounded"), buffering: buffering), sync)
    case .inOrder: Handler(on: .inOrder(buffering: buffering), async)
    case .backgroundAsync: Handler(on: .background(buffering: buffering), async)
    case .concurrent: Handler(on: .concurrent(limit: 1, buffering: buffering), async)
    case .main: Handler(on: .main(buffering: buffering)) { sync($0) }
    case .mainAsync: Handler(on: .main(buffering: buffering)) { await async($0) }
    }
  }

  var testDescription: String { rawValue }
}
