internal import Eventing

/// Returns what an encoder or a decoder says, without the values that it has seen.
///
/// The standard library's errors quote values, and those of other codecs may. Incidents, errors and
/// dead letters go to logs and to other processes, so they get the kind of the fault and its place
/// only. A codec that has more to say throws a ``DecodingFailure``.
func withoutContent(_ error: any Error) -> String {
  switch error {
  case let error as DecodingFailure: return error.description
  case let error as TransportError: return error.description
  default: return textWithoutValues(of: error) ?? "it threw a \(type(of: error))"
  }
}

/// Returns the text of an error that a handler or a responder threw. An error of a decoder that it
/// used is told without content.
func reason(of error: any Error) -> String {
  error is DecodingError || error is EncodingError ? withoutContent(error) : "\(error)"
}
