// Collections keep the room that they had at their largest. These give it back when seven eighths
// of it are empty, so that each removal costs O(1), amortized.

extension Dictionary {
  /// Gives room back that is not needed any more. Calls `hash(into:)` and `==` of the keys.
  ///
  /// Does nothing if two keys have become equal: that is a fault of their type, and no reason to stop or to lose a value.
  mutating func giveBackRoom() {
    guard capacity > 1_024, count < capacity / 8 else { return }
    let smaller = Dictionary(map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    if smaller.count == count { self = smaller }
  }
}

extension Array {
  /// Gives room back that is not needed any more.
  mutating func giveBackRoom() {
    guard capacity > 1_024, count < capacity / 8 else { return }
    self = map { $0 }
  }
}
