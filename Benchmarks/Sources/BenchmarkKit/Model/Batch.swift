/// One request to an adapter: do it `count` times, with the payloads `values`.
///
/// The loop is in the adapter's own file, around the library's own call. So what is measured is what the compiler makes of the library at
/// its call site, and the harness adds one closure call for thousands of operations.
public struct Batch: Sendable {
  /// Where handlers write that are added and removed by the batch.
  public let cell: Cell
  /// The first payload.
  public let first: Int
  /// How many there are.
  public let count: Int

  /// A request for `count` payloads from `first` on.
  public init(cell: Cell, first: Int, count: Int) {
    self.cell = cell
    self.first = first
    self.count = count
  }

  /// The payloads, in their order.
  @inlinable @inline(__always) public var values: Range<Int> { first..<(first &+ count) }
}
