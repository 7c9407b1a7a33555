/// One kind of event with one inline handler, as users of a library write it: by key, with replay, a value with changes, a view.
package struct EventKind: Sendable {
  /// Rows with equal parameters are compared.
  package let parameter: String
  package let label: String
  /// Makes the event and its handler, which writes to the cell once for each operation.
  package let make: @Sendable (Cell) async -> BulkOperation

  package init(_ parameter: String, _ label: String, make: @escaping @Sendable (Cell) async -> BulkOperation) {
    self.parameter = parameter
    self.label = label
    self.make = make
  }
}
