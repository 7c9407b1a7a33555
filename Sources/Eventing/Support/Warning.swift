#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Reports misuse that the compiler can't detect and that can't be thrown as an error.
package enum Warning {
  package static func tell(_ text: String) {
    let bytes = Array("eventing: \(text)\n".utf8)
    _ = unsafe write(2, bytes, bytes.count)
  }
}

/// Leaves out the values that a coding error quotes; `nil` for other errors.
package func textWithoutValues(of error: any Error) -> String? {
  func place(_ path: [any CodingKey]) -> String {
    if path.isEmpty { return "" }
    return " at \(path.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: "."))"
  }
  switch error {
  case DecodingError.typeMismatch(let type, let context): return "there is no \(type)\(place(context.codingPath))"
  case DecodingError.valueNotFound(let type, let context): return "a \(type) is missing\(place(context.codingPath))"
  case DecodingError.keyNotFound(let key, let context):
    return "the key \(key.stringValue) is missing\(place(context.codingPath))"
  case DecodingError.dataCorrupted(let context): return "there is no valid value\(place(context.codingPath))"
  case EncodingError.invalidValue(let value, let context):
    return "a \(type(of: value)) cannot be encoded\(place(context.codingPath))"
  default: return nil
  }
}
