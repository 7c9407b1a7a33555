/// A payload type whose values carry a number. Types with references contain a canary, so that
/// living values are counted.
protocol TestPayload: Sendable {
  static func make(_ number: Int, _ live: LiveCount) -> Self
  var number: Int { get }
}

/// A payload of no bytes.
struct Nothing: TestPayload {
  static func make(_ number: Int, _ live: LiveCount) -> Nothing { Nothing() }
  var number: Int { 0 }
}

/// A payload of one byte.
struct OneByte: TestPayload {
  let value: UInt8
  static func make(_ number: Int, _ live: LiveCount) -> OneByte { OneByte(value: UInt8(truncatingIfNeeded: number)) }
  var number: Int { Int(value) }
}

extension Int: TestPayload {
  static func make(_ number: Int, _ live: LiveCount) -> Int { number }
  var number: Int { self }
}

/// A payload of eight bytes with an alignment of 1.
struct EightBytes: TestPayload {
  typealias Bytes = (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8)
  let bytes: Bytes
  static func make(_ number: Int, _ live: LiveCount) -> EightBytes {
    EightBytes(bytes: (UInt8(number & 127), 1, 2, 3, 4, 5, 6, 7))
  }
  var number: Int { bytes.7 == 7 ? Int(bytes.0) : -1 }
}

/// A payload of 24 bytes.
struct ThreeWords: TestPayload {
  let first: Int, second: Int, third: Int
  static func make(_ number: Int, _ live: LiveCount) -> ThreeWords {
    ThreeWords(first: number, second: -1, third: number)
  }
  var number: Int { second == -1 && first == third ? first : -1 }
}

/// A payload of 200 bytes.
struct Large: TestPayload {
  typealias Words = (Int, Int, Int, Int, Int)
  let words: (Words, Words, Words, Words, Words)
  static func make(_ number: Int, _ live: LiveCount) -> Large {
    let words = (number, number, number, number, number)
    return Large(words: (words, words, words, words, words))
  }
  var number: Int { words.0.0 == words.4.4 ? words.2.2 : -1 }
}

/// A payload that is a vector of 32 bytes. Its alignment is 16, the largest one in Swift.
struct Aligned: TestPayload {
  let vector: SIMD4<Int>
  static func make(_ number: Int, _ live: LiveCount) -> Aligned { Aligned(vector: SIMD4(repeating: number)) }
  var number: Int { vector[0] == vector[3] ? vector[0] : -1 }
}

/// A payload that is a reference.
final class Reference: TestPayload {
  let number: Int
  private let canary: Canary
  init(_ number: Int, _ canary: Canary) {
    self.number = number
    self.canary = canary
  }
  static func make(_ number: Int, _ live: LiveCount) -> Self { Self(number, Canary(live)) }
}

/// A payload of two references among other bytes.
struct Mixed: TestPayload {
  let first: Canary
  let number: Int
  let text: String
  let second: Canary
  static func make(_ number: Int, _ live: LiveCount) -> Mixed {
    Mixed(
      first: Canary(live), number: number, text: "a text that is longer than fifteen bytes: \(number)",
      second: Canary(live))
  }
}

/// A payload that is an enum with associated values.
enum Choice: TestPayload {
  case reference(Canary, Int)
  case text(String, Canary)
  case plain(Int)
  static func make(_ number: Int, _ live: LiveCount) -> Choice {
    switch number % 3 {
    case 0: .reference(Canary(live), number)
    case 1: .text("\(number) a text that is longer than fifteen bytes", Canary(live))
    default: .plain(number)
    }
  }
  var number: Int {
    switch self {
    case .reference(_, let number), .plain(let number): number
    case .text(let text, _): Int(text.prefix { $0 != " " }) ?? -1
    }
  }
}

/// A payload that is an existential.
struct Boxed: TestPayload {
  let value: any TestPayload
  static func make(_ number: Int, _ live: LiveCount) -> Boxed {
    Boxed(value: number.isMultiple(of: 2) ? Mixed.make(number, live) : Large.make(number, live))
  }
  var number: Int { value.number }
}

/// A payload with a weak reference, which cannot be moved by copying its bytes.
struct Weak: TestPayload {
  weak let object: Reference?
  let strong: Reference
  static func make(_ number: Int, _ live: LiveCount) -> Weak {
    let object = Reference.make(number, live)
    return Weak(object: object, strong: object)
  }
  var number: Int { object === strong ? strong.number : -1 }
}
