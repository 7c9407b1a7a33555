/// A list of the elements that handlers recorded, in the order of the calls.
///
/// Its mutex orders the threads that record, which hides data races from the thread sanitizer. A
/// test that looks for such races records into unsynchronized memory instead.
final class Recorder<Element: Sendable>: Sendable {
  private let recorded = ConditionLock<[Element]>([])

  init() {}

  func record(_ element: Element) { recorded.withLock { $0.append(element) } }

  /// The elements, copied under the mutex. If the array itself were returned, only its reference
  /// count would keep reader and writer apart, which the thread sanitizer does not see.
  var values: [Element] { recorded.withLock { elements in elements.map { $0 } } }
  var count: Int { recorded.withLock { $0.count } }
  func removeAll() { recorded.withLock { $0 = [] } }

  /// Blocks the thread until `count` elements have been recorded.
  @available(*, noasync) func wait(forCount count: Int, file: String = #fileID, line: Int = #line) {
    recorded.wait("recorder", file: file, line: line) { $0.count >= count }
  }
}
