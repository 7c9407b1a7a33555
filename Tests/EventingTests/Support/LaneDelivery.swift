import Dispatch
import Eventing
import Testing

/// The kinds of lanes, for tests of what all of them promise.
enum LaneDelivery: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case background, queue, inOrder, concurrent, task

  func handler(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) -> Handler<Int> {
    switch self {
    case .background: Handler(on: .background) { _ in body() }
    case .queue: Handler(on: .queue(queue)) { _ in body() }
    case .inOrder: Handler(on: .inOrder) { _ async in body() }
    case .concurrent: Handler(on: .concurrent(limit: 4)) { _ async in body() }
    case .task: Handler(on: .task) { _ async in body() }
    }
  }

  var testDescription: String { rawValue }
}
