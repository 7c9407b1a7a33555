/// A client chooses the id, and the answer repeats it.
enum RequestID: Sendable {
  case number(Int)
  case text(String)

  init?(_ json: JSONValue?) {
    switch json {
    case .integer(let number)?: self = .number(number)
    case .text(let text)? where text.utf8.count <= 64: self = .text(text)
    default: return nil
    }
  }
}

extension JSONWriter {
  consuming func line() -> [UInt8] {
    endLine()
    return bytes
  }

  mutating func pair(_ key: StaticString, _ id: RequestID?) {
    self.key(key)
    switch id {
    case .number(let number)?: value(number)
    case .text(let text)?: value(text)
    case nil: null()
    }
  }

  mutating func beginAnswer(_ id: RequestID) {
    beginObject()
    pair("id", id)
    pair("ok", true)
  }

  static func error(_ code: String, _ message: String, _ id: RequestID?, supported: Bool = false) -> [UInt8] {
    var line = JSONWriter()
    line.beginObject()
    line.pair("id", id)
    line.pair("ok", false)
    line.error(code, message, supported: supported)
    line.endObject()
    return line.line()
  }

  mutating func error(_ code: String, _ message: String, supported: Bool = false) {
    key("error")
    beginObject()
    pair("code", code)
    pair("message", message)
    if supported { pair("supported", [1]) }
    endObject()
  }
}
