// The optimizer makes a copy of the standard library's sort, 3 to 6 KB of code, for each element
// type and each order. This method has a single copy for all of them, which is slower. It's for
// lists that are short or seldom sorted.

extension Sequence {
  @inline(never) @_semantics("optimize.sil.specialize.generic.never")
  func sortedUnspecialized(by isBefore: (Element, Element) -> Bool) -> [Element] { sorted(by: isBefore) }
}
