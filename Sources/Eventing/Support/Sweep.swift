/// The rule by which dead objects are swept: each use of a collection looks at two elements.
///
/// Whether an element is dead is asked, and it is removed, outside of every mutex: both may run a
/// `deinit` of the user.
enum Sweep {
  /// Looks at the next two elements of a collection, and removes the dead ones.
  ///
  /// - Parameter next: Returns the element that is looked at next, round and round; `nil` for none.
  static func two<Element>(_ next: () -> Element?, isGone: (Element) -> Bool, remove: (Element) -> Void) {
    for _ in 0..<2 {
      if let element = next(), isGone(element) { remove(element) }
    }
  }
}
