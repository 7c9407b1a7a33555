// The optimizer makes a copy of the standard library's sort for each element type and each order:
// 3 to 6 KB of code. These methods have one copy for all, which is slower. They're for lists that
// are short, or that are seldom sorted.

extension Sequence {
  @inline(never) @_semantics("optimize.sil.specialize.generic.never")
  func sortedUnspecialized(by isBefore: (Element, Element) -> Bool) -> [Element] { sorted(by: isBefore) }
}
