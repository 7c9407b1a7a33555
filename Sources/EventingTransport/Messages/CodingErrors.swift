/// Returns what an encoder or a decoder says, without the values that it has seen.
///
/// The standard library's errors quote values, and those of other codecs may. Incidents, errors and
/// dead letters go to logs and to other processes, so they get the kind of the fault and its place
/// only. A codec that has more to say throws a ``DecodingFailure``.
func withoutContent(_ error: any Error) -> String {
  func place(_ path: [any CodingKey]) -> String {
    if path.isEmpty { return "" }
    return " at \(path.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: "."))"
  }
  switch error {
  case let error as DecodingFailure: return error.description
  case let error as TransportError: return error.description
  case DecodingError.typeMismatch(let type, let context): return "there is no \(type)\(place(context.codingPath))"
  case DecodingError.valueNotFound(let type, let context): return "a \(type) is missing\(place(context.codingPath))"
  case DecodingError.keyNotFound(let key, let context):
    return "the key \(key.stringValue) is missing\(place(context.codingPath))"
  case DecodingError.dataCorrupted(let context): return "there is no valid value\(place(context.codingPath))"
  case EncodingError.invalidValue(let value, let context):
    return "a \(type(of: value)) cannot be encoded\(place(context.codingPath))"
  default: return "it threw a \(type(of: error))"
  }
}

/// Returns the text of an error that a handler or a responder threw. An error of a decoder that it
/// used is told without content.
func reason(of error: any Error) -> String {
  error is DecodingError || error is EncodingError ? withoutContent(error) : "\(error)"
}
