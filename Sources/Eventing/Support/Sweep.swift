/// The rule by which dead elements leave a collection: each operation on the collection, such as an
/// addition, checks two of its elements, and removes the dead ones.
///
/// No closure is called under a mutex, because `isGone` and `remove` may run a `deinit` of the
/// user. If a closure takes an element out under a mutex, it releases the element after the unlock.
enum Sweep {
  /// The number of elements that one operation on the collection checks.
  static var count: Int { 2 }

  /// Checks the next elements of a collection, and removes the dead ones.
  ///
  /// - Parameters:
  ///   - next: Returns the element that is checked next; after the last one, the first again. `nil`
  ///     if there is none.
  ///   - isGone: Returns whether the element is dead.
  ///   - remove: Removes a dead element.
  static func step<Element>(_ next: () -> Element?, isGone: (Element) -> Bool, remove: (Element) -> Void) {
    for _ in 0..<count {
      if let element = next(), isGone(element) { remove(element) }
    }
  }
}
