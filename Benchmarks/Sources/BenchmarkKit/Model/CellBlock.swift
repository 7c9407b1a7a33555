import CMeasure

/// The cells of one event's handlers: a row for each sender, a column for each handler.
///
/// Handlers beyond the number of columns share cells; the sums stay right.
package final class CellBlock: @unchecked Sendable {  // one writer for each word at a time; read when the writers are done, or opaquely
  /// A payload finds its row by a shift.
  static let columns = 1 << (senderShift - rowShift)
  /// The most senders that a workload may have.
  package static let rows = 16
  /// Columns that permanent handlers use.
  static let permanent = columns - 64

  private let base: UnsafeMutablePointer<Int>

  package init() {
    let raw = UnsafeMutableRawPointer.allocate(
      byteCount: Self.columns * Self.rows * MemoryLayout<Int>.stride, alignment: 128)
    base = raw.bindMemory(to: Int.self, capacity: Self.columns * Self.rows)
    base.initialize(repeating: 0, count: Self.columns * Self.rows)
  }
  // No deinit: a library that delivers late, or twice, must still find its cells, and be found out.

  /// Cells for `count` permanent handlers.
  func cells(_ count: Int) -> [Cell] { (0..<count).map { Cell(base + $0 % Self.permanent) } }
  /// The cell of handlers that come and go.
  var passing: Cell { Cell(base + passingColumn) }
  private var passingColumn: Int { Self.columns - 32 }

  func reset() { base.update(repeating: 0, count: Self.columns * Self.rows) }

  func value(row: Int, column: Int) -> Int { cm_read(base + row * Self.columns + column) }
  /// What the first `columns` permanent handlers got from one sender.
  func sum(row: Int, columns: Int) -> Int { cm_sum(base + row * Self.columns, columns) }
  /// `expected` has what each handler should have got from each sender. Says which is the first that did not, if there is one; handlers
  /// may still be running.
  func mismatch(columns: Int, expected: [Int]) -> String? {
    for (row, expected) in expected.enumerated() {
      for column in 0..<columns {
        let got = value(row: row, column: column)
        if got != expected { return "sender \(row), handler \(column): got \(got), expected \(expected)" }
      }
    }
    return nil
  }
  /// What all permanent handlers got from the first sender.
  var permanentSum: Int { sum(row: 0, columns: Self.permanent) }
  /// What handlers that come and go got, from all senders.
  var passingSum: Int { (0..<Self.rows).reduce(0) { $0 &+ value(row: $1, column: passingColumn) } }
}
