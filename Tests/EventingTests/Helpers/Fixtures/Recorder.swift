/// In the order of the calls. The mutex hides data races from the thread sanitizer; a test that
/// looks for races records into unsynchronized memory.
final class Recorder<Element: Sendable>: Sendable {
  private let recorded = ConditionLock<[Element]>([])

  init() {}

  func record(_ element: Element) { recorded.withLock { $0.append(element) } }

  /// Copied under the mutex: otherwise only the array's reference count would keep reader and
  /// writer apart, which the thread sanitizer does not see.
  var values: [Element] { recorded.withLock { elements in elements.map { $0 } } }
  var count: Int { recorded.withLock { $0.count } }
  func removeAll() { recorded.withLock { $0 = [] } }

  /// Blocks the thread.
  @available(*, noasync) func wait(forCount count: Int, file: String = #fileID, line: Int = #line) {
    recorded.wait("recorder", file: file, line: line) { $0.count >= count }
  }
}
