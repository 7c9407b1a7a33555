import CMeasure

/// The cells of one event's handlers, as words (`Int`s) in a row for each sender and a column for
/// each handler. A handler adds the payloads that it receives to the words of its column.
///
/// Handlers beyond the number of columns share cells; the sums are still correct.
// Safe: each word has one writer at a time. The harness reads a word after its writers have ended,
// or by a volatile load.
package final class CellBlock: @unchecked Sendable {
  /// The number of words in a row: a power of two, so that a shift finds a payload's row.
  static let columns = 1 << (senderShift - rowShift)
  /// The maximum number of senders in a workload.
  package static let rows = 16
  /// The number of columns for permanent handlers: each column is the cell of one such handler. All
  /// handlers that come and go share one cell, ``passing``, in the middle of the other 64 columns.
  /// The columns around it stay unused, so it shares no cache line with a permanent handler's cell.
  static let permanent = columns - 64

  private let base: UnsafeMutablePointer<Int>

  package init() {
    let raw = UnsafeMutableRawPointer.allocate(
      byteCount: Self.columns * Self.rows * MemoryLayout<Int>.stride, alignment: 128)
    base = raw.bindMemory(to: Int.self, capacity: Self.columns * Self.rows)
    base.initialize(repeating: 0, count: Self.columns * Self.rows)
  }
  // No deinit: a handler that is called late or twice must still find its cell, so that checks
  // detect the fault.

  /// Returns cells for `count` permanent handlers.
  func cells(_ count: Int) -> [Cell] { (0..<count).map { Cell(base + $0 % Self.permanent) } }
  /// The cell to which all handlers that are added and removed during a workload add their
  /// payloads. Like each ``Cell``, it has one word for each sender.
  var passing: Cell { Cell(base + passingColumn) }
  private var passingColumn: Int { Self.columns - 32 }

  /// Sets every word to zero.
  func reset() { base.update(repeating: 0, count: Self.columns * Self.rows) }

  func value(row: Int, column: Int) -> Int { cm_read(base + row * Self.columns + column) }
  /// Returns the sum of the payloads that the first `columns` permanent handlers received from one
  /// sender.
  func sum(row: Int, columns: Int) -> Int { cm_sum(base + row * Self.columns, columns) }
  /// Returns a description of the first handler whose sum is wrong, or nil if there is none.
  ///
  /// May be called while handlers run.
  ///
  /// - Parameter expected: For each sender, the sum that every handler should have received.
  func mismatch(columns: Int, expected: [Int]) -> String? {
    for (row, expected) in expected.enumerated() {
      for column in 0..<columns {
        let got = value(row: row, column: column)
        if got != expected { return "sender \(row), handler \(column): got \(got), expected \(expected)" }
      }
    }
    return nil
  }
  /// The sum of the payloads that all permanent handlers received from the first sender.
  var permanentSum: Int { sum(row: 0, columns: Self.permanent) }
  /// The sum of the payloads from all senders to the handlers that come and go. These handlers,
  /// unlike the permanent ones, are added and removed during a workload.
  var passingSum: Int { (0..<Self.rows).reduce(0) { $0 &+ value(row: $1, column: passingColumn) } }
}
