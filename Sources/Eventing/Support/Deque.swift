/// First in, first out, in one array. Room is given back as it empties.
struct Deque<Element> {
  private var elements: ContiguousArray<Element?> = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { head == elements.count }
  var first: Element? { isEmpty ? nil : elements[head] }
  var last: Element? { isEmpty ? nil : elements[elements.count - 1] }

  /// O(1), amortized.
  mutating func append(_ element: Element) { elements.append(element) }

  mutating func withFirst(_ body: (inout Element) -> Void) { if !isEmpty { withElement(at: 0, body) } }

  /// Changes the element that is at a distance from the first; there has to be one.
  mutating func withElement(at distance: Int, _ body: (inout Element) -> Void) {
    guard var element = elements[head + distance] else { return }
    elements[head + distance] = nil
    body(&element)
    elements[head + distance] = element
  }

  mutating func forEach(_ body: (inout Element) -> Void) {
    for i in head..<elements.count {
      guard var element = elements[i] else { continue }
      elements[i] = nil
      body(&element)
      elements[i] = element
    }
  }

  /// Puts back what was first. O(1), but where nothing was taken before.
  mutating func prepend(_ element: Element) {
    if head > 0 {
      head -= 1
      elements[head] = element
    } else {
      elements.insert(element, at: 0)
    }
  }

  mutating func popLast() -> Element? {
    guard !isEmpty, let last = elements.popLast() else { return nil }
    if isEmpty {
      elements.removeAll(keepingCapacity: true)
      head = 0
    }
    return last
  }

  /// O(1), amortized; nil if there is none.
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
}
