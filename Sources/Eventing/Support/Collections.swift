/// Not synchronized. Gives memory back as it empties.
@usableFromInline package struct Deque<Element> {
  @usableFromInline var elements: ContiguousArray<Element?> = []
  @usableFromInline var head = 0

  @inlinable package init() {}

  @inlinable package var count: Int { elements.count - head }
  @inlinable package var isEmpty: Bool { head == elements.count }
  @inlinable package var first: Element? { isEmpty ? nil : elements[head] }

  @inlinable package mutating func append(_ element: Element) { elements.append(element) }

  @inlinable package mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    var element: Element?
    swap(&element, &elements[head])
    head += 1
    if isEmpty || head > OverloadControl.limit { giveBackRoom() }
    return element
  }

  @inlinable mutating func giveBackRoom() {
    if isEmpty {
      let bytes = elements.capacity * MemoryLayout<Element?>.stride
      elements.removeAll(keepingCapacity: elements.capacity <= 2 * OverloadControl.limit && bytes <= 65_536)
      head = 0
    } else if head > OverloadControl.limit, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
  }

  package mutating func updateLast(_ change: (inout Element) -> Void) { update(elements.count - 1, change) }
  mutating func updateFirst(_ change: (inout Element) -> Void) { update(head, change) }

  private mutating func update(_ index: Int, _ change: (inout Element) -> Void) {
    guard !isEmpty, var element = elements[index] else { return }
    elements[index] = nil
    change(&element)
    elements[index] = element
  }

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

  package func forEach(_ body: (Element) -> Void) {
    for i in head..<elements.count { if let element = elements[i] { body(element) } }
  }

  mutating func removeAll(where isRemoved: (Element) -> Bool) {
    elements = ContiguousArray(elements[head...].filter { $0.map { !isRemoved($0) } ?? false })
    head = 0
  }
}

extension Deque: Sendable where Element: Sendable {}

// Collections keep their largest capacity. These methods give memory back once seven eighths of it
// is unused, so that each removal is O(1), amortized.

extension Dictionary {
  /// Calls the keys' `hash(into:)` and `==`. Does nothing if two keys have become equal: their type
  /// is at fault, but no value is lost.
  mutating func giveBackRoom() {
    if capacity > 1_024, count < capacity / 8 { shrink() }
  }

  /// Not specialized, because it is seldom called and would otherwise be copied for each type of
  /// dictionary.
  @inline(never) @_semantics("optimize.sil.specialize.generic.never") private mutating func shrink() {
    let smaller = Dictionary(map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    if smaller.count == count { self = smaller }
  }
}

extension Array {
  mutating func giveBackRoom() {
    guard capacity > 1_024, count < capacity / 8 else { return }
    self = map { $0 }
  }
}

// The optimizer makes a copy of the standard library's sort, 3 to 6 KB of code, for each element
// type and each order. This method has a single copy for all of them, which is slower. It's for
// lists that are short or seldom sorted.

extension Sequence {
  @inline(never) @_semantics("optimize.sil.specialize.generic.never")
  func sortedUnspecialized(by isBefore: (Element, Element) -> Bool) -> [Element] { sorted(by: isBefore) }
}
