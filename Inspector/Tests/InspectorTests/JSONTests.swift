import FakeApp
import InspectorClient
import Testing

@Suite struct JSONTests {
  private func slice(_ text: String) throws -> JSONSlice { try JSONSlice(Array(text.utf8)) }

  @Test func membersAreFoundWhateverLiesInThem() throws {
    let text = #" {"a":{"b":[1,2,{"c":"}]"}]} , "d" : "x\"y\\","e":-1.5e+3,"f":null,"\u0067":true,"a":7} "#.trimmed
    let members = try #require(try slice(text).members)
    #expect(members["a"]?.int == 7)
    #expect(members["d"]?.string == #"x"y\"#)
    #expect(members["e"]?.int == nil)
    #expect(members["g"]?.bool == true)
    #expect(members.count == 5)
  }

  @Test func elementsKeepTheirText() throws {
    let elements = try #require(try slice(#"[{"a":1 },[],"x", 3]"#).elements)
    #expect(elements.map { String(decoding: $0.bytes, as: UTF8.self) } == [#"{"a":1 }"#, "[]", #""x""#, "3"])
    #expect(try slice("[]").elements?.isEmpty == true)
    #expect(try slice("{}").members?.isEmpty == true)
  }

  @Test(arguments: [
    "", "{", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "01", "1.", "-", "tru", "nullx", "\"\\x\"", "\"\\u12g4\"", "\"a",
    "\"\u{1}\"", "[1]\n", "[1] 2", "\r{}", "{\"a\":1,}", "1e", "'a'", "\u{feff}{}",
  ])
  func whatIsNotJSONIsRefused(_ text: String) {
    #expect(throws: JSONFault.self) { try slice(text) }
  }

  @Test func deepNestingIsRefusedAndDoesNotExhaustTheStack() {
    #expect(throws: JSONFault.self) { try slice(String(repeating: "[", count: 1_000_000)) }
    #expect(throws: Never.self) { try slice(String(repeating: "[", count: 60) + String(repeating: "]", count: 60)) }
  }

  @Test func anyTextComesBackFromItsJSON() throws {
    var generator = SystemRandomNumberGenerator()
    let scalars: [ClosedRange<UInt32>] = [0...0x7f, 0x80...0x7ff, 0x2020...0x2030, 0x1f600...0x1f640]
    for _ in 0..<500 {
      var text = ""
      for _ in 0..<Int.random(in: 0..<20, using: &generator) {
        let range = scalars.randomElement(using: &generator)!
        text.unicodeScalars.append(Unicode.Scalar(UInt32.random(in: range, using: &generator))!)
      }
      #expect(try slice(text.asJSON).string == text)
      #expect(try slice(Value.text(text).json).string == text)
    }
  }

  @Test func escapedSurrogatesBecomeOneCharacter() throws {
    #expect(try slice(#""\ud83d\ude00\/\b""#).string == "😀/\u{8}")
    #expect(try slice(#""\ud83d""#).string == "\u{fffd}")
  }

  @Test func linesAreFoundHoweverTheyAreCut() {
    let text = Array("one\r\n\n\ntwo\nthree\n\r\nhalf".utf8)
    for size in 1...text.count {
      var (buffer, lines) = (LineBuffer(), [String]())
      for start in stride(from: 0, to: text.count, by: size) {
        buffer.append(text[start..<min(start + size, text.count)])
        while let line = buffer.next() { lines.append(String(decoding: line, as: UTF8.self)) }
      }
      #expect(lines == ["one", "two", "three"])
      #expect(buffer.count == 4)
    }
  }
}

extension String {
  fileprivate var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
