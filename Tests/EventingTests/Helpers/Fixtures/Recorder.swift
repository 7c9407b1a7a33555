/// What handlers were called with, in the order of the calls.
///
/// Its lock orders the threads that record. A test that looks for data races with the thread sanitizer records into plain memory instead.
final class Recorder<Element: Sendable>: Sendable {
  private let recorded = ConditionLock<[Element]>([])

  init() {}

  func record(_ element: Element) { recorded.withLock { $0.append(element) } }

  var values: [Element] { recorded.withLock { $0 } }
  var count: Int { recorded.withLock { $0.count } }
  func removeAll() { recorded.withLock { $0 = [] } }

  /// Blocks the thread until so many have been recorded.
  @available(*, noasync) func wait(forCount count: Int) { recorded.wait("recorder") { $0.count >= count } }
}
