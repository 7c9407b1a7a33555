import Eventing
import Synchronization

/// Runs each part, and ends with an error if an expectation of one of them failed.
@main struct Client {
  static func main() async throws {
    await readme()
    try await readmeNeeds()
    try await gettingStarted()
    await withSwiftUI()
    await keys()
    await observed()
    await batches()
    try await remote()
    await viewModel()
    await actorHandlers()
    await handlerValues()
    await buses()
    await isolation()
    print("\(Log.shared.count) expectations held")
  }
}

/// Stops the program if two values differ.
nonisolated func expect<Value: Equatable & Sendable>(
  _ found: Value, _ expected: Value, file: StaticString = #fileID, line: UInt = #line
) {
  guard found == expected else { fatalError("\(file):\(line): expected \(expected), got \(found)") }
  Log.shared.count += 1
}

/// The lines that handlers have written, from any thread.
nonisolated final class Log: Sendable {
  static let shared = Log()
  private let state = Mutex((lines: [String](), count: 0))

  func write(_ line: String) { state.withLock { $0.lines.append(line) } }
  func take() -> [String] {
    state.withLock { state in
      defer { state.lines = [] }
      return state.lines
    }
  }
  var isEmpty: Bool { state.withLock { $0.lines.isEmpty } }
  var count: Int {
    get { state.withLock { $0.count } }
    set { state.withLock { $0.count = newValue } }
  }
}
