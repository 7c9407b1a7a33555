internal import Eventing

/// Texts go to logs and to other processes, and errors of codecs may quote values. So only the kind
/// and place of the fault are given. A codec that has more to say throws a ``DecodingFailure``.
func withoutContent(_ error: any Error) -> String {
  switch error {
  case let error as DecodingFailure: return error.description
  case let error as TransportError: return error.description
  default: return textWithoutValues(of: error) ?? "it threw a \(type(of: error))"
  }
}

/// The error of a decoder that a handler used is given without content.
func reason(of error: any Error) -> String {
  error is DecodingError || error is EncodingError ? withoutContent(error) : "\(error)"
}
