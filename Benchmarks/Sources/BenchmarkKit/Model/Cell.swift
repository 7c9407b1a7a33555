public import CMeasure

/// Where a handler writes. The body of every handler is exactly `cell.hit(payload)`.
///
/// A payload is made by `payload(sender:sequence:)`, and each sender has its own row of the block, so that handlers which run
/// at the same time never share a cache line. Public, like `Batch`: with package access each call of a handler takes 4 instructions more.
public struct Cell: @unchecked Sendable {  // a row has one writer at a time; readers use opaque loads, after the writers
  @usableFromInline let base: UnsafeMutablePointer<Int>

  /// A cell at that address of its block's first row.
  @inlinable @inline(__always) public init(_ base: UnsafeMutablePointer<Int>) { self.base = base }

  /// Where the first sender's row is, and how far a payload is shifted to find another's: for handlers that are not Swift.
  package var address: UnsafeMutablePointer<Int> { base }
  package static var shift: Int32 { Int32(rowShift) }

  /// A move, a shift and an add: the cheapest body that depends on the payload and on the handler's own state.
  @inlinable @inline(__always) public func hit(_ payload: Int) { base[payload &>> rowShift] &+= payload }

  /// The same for libraries that may run one handler at the same time as itself, for the same sender.
  @inlinable @inline(__always) public func hitAtomically(_ payload: Int) {
    _ = cm_add(base + (payload &>> rowShift), payload)
  }
}
