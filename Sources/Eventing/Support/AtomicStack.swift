import Synchronization

/// A lock-free stack, emptied in one step. Pushing releases nothing, so it's allowed under a mutex.
@safe struct AtomicStack<Element: Sendable>: ~Copyable, Sendable {
  @safe private final class Node: Sendable {
    let element: Element
    /// The node below. Set before this node is pushed. Safe: each node retains the one below.
    let next = unsafe Atomic<Unmanaged<Node>?>(nil)

    init(_ element: Element) { self.element = element }
  }

  // Safe: the stack retains the first node. Only the thread that took all nodes out releases them.
  private let first = unsafe Atomic<Unmanaged<Node>?>(nil)

  deinit { _ = takeAll() }

  var isEmpty: Bool { unsafe first.load(ordering: .acquiring) == nil }

  borrowing func push(_ element: Element) {
    let node = Node(element)
    let new = unsafe Unmanaged.passRetained(node)
    var below = unsafe first.load(ordering: .relaxed)
    while true {
      unsafe node.next.store(below, ordering: .relaxed)
      let (done, now) = unsafe first.compareExchange(
        expected: below, desired: new, ordering: .acquiringAndReleasing)
      if done { return }
      unsafe below = now
    }
  }

  borrowing func takeAll() -> [Element] {
    var elements: [Element] = []
    var next = unsafe first.exchange(nil, ordering: .acquiringAndReleasing)
    while let taken = unsafe next {
      let node = unsafe taken.takeRetainedValue()
      elements.append(node.element)
      unsafe next = node.next.load(ordering: .relaxed)
    }
    elements.reverse()
    return elements
  }
}
