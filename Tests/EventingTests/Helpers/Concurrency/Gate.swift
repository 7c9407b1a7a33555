/// An open gate never closes again.
final class Gate: Sendable {
  private struct State: Sendable {
    var isOpen = false
    var nextID = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  }
  private let state = ConditionLock(State())

  init() {}

  var isOpen: Bool { state.withLock { $0.isOpen } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume() }
  }

  /// For handlers and the test's own threads. A task would block a thread of Swift's pool.
  @available(*, noasync) func wait(file: String = #fileID, line: Int = #line) {
    state.wait("gate", file: file, line: line) { $0.isOpen }
  }

  /// Also ends when the task is cancelled, as by the time limit of a suite.
  func opened() async {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if !state.isOpen, !Task.isCancelled { state.waiting[id] = continuation }
          return state.waiting[id] == nil
        }
        if isOpen { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
    }
    _ = isOpen  // locks the mutex, which orders this task after `open` for the thread sanitizer
  }
}
