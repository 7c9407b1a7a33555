/// A FIFO in one array. Gives memory back as it empties.
///
/// A value without synchronization. Complexity: O(1), amortized, unless a method says otherwise.
package struct Deque<Element> {
  var elements: ContiguousArray<Element?> = []
  var head = 0

  package init() {}

  package var count: Int { elements.count - head }
  package var isEmpty: Bool { head == elements.count }
  var first: Element? { isEmpty ? nil : elements[head] }
  /// The number of elements that fit without a new allocation.
  var capacity: Int { elements.capacity }

  package mutating func append(_ element: Element) { elements.append(element) }

  /// Removes and returns the first element; `nil` if there is none.
  package mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    var element: Element?
    swap(&element, &elements[head])
    head += 1
    if isEmpty {
      let bytes = elements.capacity * MemoryLayout<Element?>.stride
      elements.removeAll(keepingCapacity: elements.capacity <= 2 * OverloadControl.limit && bytes <= 65_536)
      head = 0
    } else if head > OverloadControl.limit, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Returns the first element that matches; `nil` if none does. O(n)
  func first(where isMatch: (Element) -> Bool) -> Element? {
    for i in head..<elements.count { if let element = elements[i], isMatch(element) { return element } }
    return nil
  }

  /// Changes the last element, if there is one.
  package mutating func updateLast(_ change: (inout Element) -> Void) {
    guard head < elements.count, var last = elements[elements.count - 1] else { return }
    elements[elements.count - 1] = nil
    change(&last)
    elements[elements.count - 1] = last
  }

  /// Changes the first element, if there is one.
  mutating func updateFirst(_ change: (inout Element) -> Void) {
    guard var first else { return }
    elements[head] = nil
    change(&first)
    elements[head] = first
  }

  /// Inserts elements before all others. O(new.count) if as many have been removed there, otherwise
  /// O(count).
  mutating func prepend(_ new: [Element]) {
    if new.isEmpty { return }
    if new.count <= head {
      head -= new.count
      for (i, element) in new.enumerated() { elements[head + i] = element }
      return
    }
    elements.replaceSubrange(..<head, with: new.map { $0 })
    head = 0
  }

  /// Calls a closure with each element, in order. O(n)
  package func forEach(_ body: (Element) -> Void) {
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

extension Deque: Sendable where Element: Sendable {}
