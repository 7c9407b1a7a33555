import Synchronization

/// A stack onto which any thread may push, and that is emptied in one step. No thread waits.
///
/// The order of the pushes is one order over all threads. A push allocates a node, and releases
/// nothing. So a thread that holds a mutex may push.
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

  /// Whether the stack was empty a moment ago.
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

  /// Removes and returns all elements, in the order in which they were pushed.
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
