/// A request to an adapter: perform an operation `count` times, with the payloads `values`.
///
/// The adapter runs the loop in its own file, around the library's own call. So the harness
/// measures the code that the compiler generates at a call site of the library. The harness itself
/// adds only one closure call for thousands of operations.
public struct Batch: Sendable {
  /// Memory for the handlers that the batch adds and removes: a counting word (`Int`) for each
  /// sender. When such a handler is called, it adds the payload to the word of its sender.
  public let cell: Cell
  /// The first payload.
  public let first: Int
  /// The number of payloads.
  public let count: Int

  /// Creates a request for `count` consecutive payloads, beginning with `first`.
  public init(cell: Cell, first: Int, count: Int) {
    self.cell = cell
    self.first = first
    self.count = count
  }

  /// The payloads in ascending order.
  @inlinable @inline(__always) public var values: Range<Int> { first..<(first &+ count) }
}
