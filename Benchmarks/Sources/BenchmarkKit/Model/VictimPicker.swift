/// Picks the handlers to replace, in one pseudo-random sequence for all libraries.
package struct VictimPicker {
  @usableFromInline var state: UInt64

  @inlinable @inline(__always) package init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) }

  @inlinable @inline(__always) package mutating func pick(below count: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(count))
  }
}
