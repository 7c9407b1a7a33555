/// One kind of event, written as users of a library write it. Examples are an event by key, one
/// with replay, an observed value, and a view. It has one inline handler unless the name says
/// otherwise.
package struct EventKind: Sendable {
  /// The parameter of the row; rows with equal parameters are compared.
  package let parameter: String
  package let label: String
  /// Creates the event, its handler if it has one, and what runs a batch of operations. Once per
  /// operation, the handler or the sender writes to the cell.
  package let make: @Sendable (Cell) async -> BulkOperation

  package init(_ parameter: String, _ label: String, make: @escaping @Sendable (Cell) async -> BulkOperation) {
    self.parameter = parameter
    self.label = label
    self.make = make
  }
}
