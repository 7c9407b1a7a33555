public import CMeasure

/// The words (`Int`s) that one handler writes to, one for each sender. The body of a handler is
/// `cell.hit(payload)` and nothing else; or `cell.hitAtomically(payload)`, where a library may run
/// a handler concurrently with itself. Handlers in other languages find the word to add to by
/// `address` and `shift`.
///
/// The function `payload(sender:sequence:)` makes the payloads. Each sender has its own row of
/// words in the `CellBlock`, with one word for each handler. So handlers that run at once for
/// different senders never share a cache line.
///
/// The type is public, like `Batch`. With package access each handler call takes 4 more
/// instructions (callgrind, x86_64).
// Safe: each word has one writer at a time, or is written atomically. The harness reads a word
// after its writers have ended, or by a volatile load.
public struct Cell: @unchecked Sendable {
  /// The address of the word to which the handler adds the payloads of sender 0. The words for the
  /// other senders are at the same place in the later rows of the ``CellBlock``.
  @usableFromInline let base: UnsafeMutablePointer<Int>

  /// Creates the cell of a handler. At the address `base` is the word to which the handler adds the
  /// payloads of sender 0.
  @inlinable @inline(__always) public init(_ base: UnsafeMutablePointer<Int>) { self.base = base }

  /// The address of the word to which the handler adds the payloads of sender 0. Handlers that are
  /// not written in Swift use it.
  package var address: UnsafeMutablePointer<Int> { base }
  /// The shift that turns a payload into the distance, in words, from `address` to its sender's
  /// word. It serves handlers that are not written in Swift.
  package static var shift: Int32 { Int32(rowShift) }

  /// Adds the payload to its sender's word: a move, a shift and an add.
  ///
  /// This is the cheapest body that depends on both the payload and the handler's own state.
  @inlinable @inline(__always) public func hit(_ payload: Int) { base[payload &>> rowShift] &+= payload }

  /// Adds the payload atomically, for libraries that may run a handler concurrently with itself.
  @inlinable @inline(__always) public func hitAtomically(_ payload: Int) {
    _ = cm_add(base + (payload &>> rowShift), payload)
  }
}
