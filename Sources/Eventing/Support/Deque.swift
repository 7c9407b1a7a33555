/// A FIFO in one array. Gives memory back as it empties.
///
/// A value without synchronization. Complexity: O(1), amortized, unless a method says otherwise.
struct Deque<Element> {
  private var elements: ContiguousArray<Element?> = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { head == elements.count }
  var first: Element? { isEmpty ? nil : elements[head] }
  /// The number of elements that fit without a new allocation.
  var capacity: Int { elements.capacity }

  mutating func append(_ element: Element) { elements.append(element) }

  /// Removes and returns the first element; `nil` if there is none.
  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    var element: Element?
    swap(&element, &elements[head])
    head += 1
    if isEmpty {
      elements.removeAll(keepingCapacity: elements.capacity <= 2 * OverloadControl.limit)
      head = 0
    } else if head > OverloadControl.limit, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Calls `body` with each element, in order. O(n)
  func forEach(_ body: (Element) -> Void) {
    for i in head..<elements.count { if let element = elements[i] { body(element) } }
  }

  /// Changes each element in place, in order. O(n)
  mutating func update(_ change: (inout Element) -> Void) {
    for i in head..<elements.count {
      guard var element = elements[i] else { continue }
      elements[i] = nil
      change(&element)
      elements[i] = element
    }
  }

  /// Removes the elements that match. O(n)
  mutating func removeAll(where isRemoved: (Element) -> Bool) {
    elements = ContiguousArray(elements[head...].filter { $0.map { !isRemoved($0) } ?? false })
    head = 0
  }
}
