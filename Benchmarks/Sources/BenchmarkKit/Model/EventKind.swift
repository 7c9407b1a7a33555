/// One kind of event, in code as users of a library write it. Examples are an event by key, one
/// with replay, an observed value, and a view. Each event has one inline handler, unless the text
/// ``parameter`` names another number or kind of handlers.
package struct EventKind: Sendable {
  /// The parameter of the row; rows with equal parameters are compared.
  package let parameter: String
  package let label: String
  /// Creates the event with its handler, if it has one. Returns the operation that runs a
  /// ``Batch``: a loop that sends its payloads, or sets or reads values.
  ///
  /// Each payload is added to the ``Cell`` once, so that the harness can check the sum: by the
  /// handler that receives the payload, or, if no handler is called for it, by the loop.
  package let make: @Sendable (Cell) async -> BulkOperation

  package init(_ parameter: String, _ label: String, make: @escaping @Sendable (Cell) async -> BulkOperation) {
    self.parameter = parameter
    self.label = label
    self.make = make
  }
}
