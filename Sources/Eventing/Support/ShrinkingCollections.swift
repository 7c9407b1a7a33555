// Collections keep their largest capacity. These methods give memory back when seven eighths of it
// are unused, so that each removal costs O(1), amortized.

extension Dictionary {
  /// Calls `hash(into:)` and `==` of the keys. Does nothing if two keys have become equal: their
  /// type is at fault, but no value is lost.
  mutating func giveBackRoom() {
    if capacity > 1_024, count < capacity / 8 { shrink() }
  }

  /// Not specialized: seldom called, and otherwise copied for each type of dictionary.
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
