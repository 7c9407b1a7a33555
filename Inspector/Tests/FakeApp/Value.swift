/// A JSON value that a test writes down.
public enum Value: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  case text(String)
  case int(Int)
  case double(Double)
  case bool(Bool)
  case null
  case array([Value])
  case object([String: Value])

  public init(stringLiteral value: String) { self = .text(value) }
  public init(integerLiteral value: Int) { self = .int(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(nilLiteral: ()) { self = .null }
  public init(arrayLiteral elements: Value...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, Value)...) {
    self = .object(Dictionary(uniqueKeysWithValues: elements))
  }

  /// The value as JSON.
  public var json: String {
    switch self {
    case .text(let text): Self.quoted(text)
    case .int(let int): "\(int)"
    case .double(let double): "\(double)"
    case .bool(let bool): "\(bool)"
    case .null: "null"
    case .array(let values): "[\(values.map(\.json).joined(separator: ","))]"
    case .object(let members):
      "{\(members.map { "\(Self.quoted($0.key)):\($0.value.json)" }.joined(separator: ","))}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 0x20:
        result += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

/// A row of the protocol.
public typealias Row = [String: Value]
