import Eventing
import Synchronization

extension Meddle {
  /// A payload whose parts all carry one number, so that a damaged or freed part is detected.
  protocol Freight: Sendable {
    static func make(_ number: Int) -> Self
    var number: Int { get }
    /// Whether every part is alive, and carries the payload's `number`.
    var isWhole: Bool { get }
  }

  /// A part of a payload. Its `deinit` erases the number, so that a use after the release is
  /// detected.
  final class Mark: Sendable {
    private let stamp: Atomic<Int>
    private let canary = Canary(.payload)

    init(_ number: Int) { stamp = Atomic(number) }
    deinit { stamp.store(-1, ordering: .relaxed) }

    var number: Int { stamp.load(ordering: .relaxed) }
    func carries(_ number: Int) -> Bool { self.number == number && canary.isAlive }
  }

  /// A payload of two references.
  struct Pair: Freight {
    let first: Mark
    let second: Mark

    static func make(_ number: Int) -> Pair { Pair(first: Mark(number), second: Mark(number)) }
    var number: Int { first.number }
    var isWhole: Bool { first.carries(number) && second.carries(number) && number >= 0 }
  }

  /// A payload of three references.
  struct Triple: Freight {
    let first: Mark
    let second: Mark
    let third: Mark

    static func make(_ number: Int) -> Triple {
      Triple(first: Mark(number), second: Mark(number), third: Mark(number))
    }
    var number: Int { third.number }
    var isWhole: Bool {
      first.carries(number) && second.carries(number) && third.carries(number) && number >= 0
    }
  }

  /// A payload of a string that is too long to be stored inline, and the number in that string.
  struct Text: Freight {
    let line: String
    let number: Int

    static func make(_ number: Int) -> Text { Text(line: line(number), number: number) }
    var isWhole: Bool { line == Text.line(number) }
    private static func line(_ number: Int) -> String { "a line that is too long to be inline, number \(number)" }
  }

  /// A payload whose cases contain references, strings and another payload of this type.
  enum Choice: Freight {
    case plain(Int)
    case mark(Mark)
    case pair(Pair)
    case text(Text)
    indirect case nested(Choice, Mark)

    static func make(_ number: Int) -> Choice {
      switch (number >> 2) % 5 {
      case 0: .plain(number)
      case 1: .mark(Mark(number))
      case 2: .pair(.make(number))
      case 3: .text(.make(number))
      default: .nested(.pair(.make(number)), Mark(number))
      }
    }

    var number: Int {
      switch self {
      case .plain(let number): number
      case .mark(let mark): mark.number
      case .pair(let pair): pair.number
      case .text(let text): text.number
      case .nested(_, let mark): mark.number
      }
    }

    var isWhole: Bool {
      switch self {
      case .plain(let number): number >= 0
      case .mark(let mark): mark.carries(number) && number >= 0
      case .pair(let pair): pair.isWhole
      case .text(let text): text.isWhole
      case .nested(let choice, let mark): choice.isWhole && mark.carries(choice.number)
      }
    }
  }

  /// A payload of an existential and a reference.
  struct Crate: Freight {
    let content: any Freight
    let mark: Mark

    static func make(_ number: Int) -> Crate {
      let content: any Freight =
        switch (number >> 2) % 3 {
        case 0: Triple.make(number)
        case 1: Text.make(number)
        default: Choice.make(number)
        }
      return Crate(content: content, mark: Mark(number))
    }
    var number: Int { mark.number }
    var isWhole: Bool { content.isWhole && mark.carries(content.number) && number >= 0 }
  }

  /// A task-local value that holds references.
  struct Badge: Sendable {
    private let pair: Pair
    init(_ number: Int) { pair = .make(number) }
    var isWhole: Bool { pair.isWhole }
  }

  @TaskLocal static var badge: Badge?

  /// A key. If its number is a multiple of 8, a comparison posts to another event.
  struct HostileKey: Hashable, Sendable {
    let number: Int
    let mark: Mark
    let target: Slot<Event<Pair>>

    static func == (a: HostileKey, b: HostileKey) -> Bool {
      if a.number % 8 == 0 { a.target.current.post(.make(0)) }
      return a.number == b.number && a.mark.carries(a.number) && b.mark.carries(b.number)
    }
    func hash(into hasher: inout Hasher) { hasher.combine(number % 4) }
  }
}

extension Meddle.Freight {
  /// The length of the longest chain of payloads that handlers may still send because of this one.
  var depth: Int { number & 3 }

  /// Returns the payload that a handler sends because of this one. The returned payload's ``depth``
  /// is one less than this payload's.
  func next<Other: Meddle.Freight>(_: Other.Type = Other.self) -> Other { .make(number - 1) }
}

extension Worker {
  /// Returns a new payload. The depth of one payload in four is 1 or 2, so the handlers of that one
  /// may send further payloads.
  func freight<Payload: Meddle.Freight>(_: Payload.Type = Payload.self) -> Payload {
    .make(random.below(1 << 20) << 2 | (random.oneIn(4) ? 1 + random.below(2) : 0))
  }
}
