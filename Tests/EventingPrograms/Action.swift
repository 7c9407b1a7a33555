/// An action of a program, performed at top level or inside a handler.
///
/// In `post` the number is the payload. In `removeNamed` and `lockNamed` it chooses a name, and in
/// the other actions one of all handlers added so far, removed ones included. It chooses by index,
/// modulo the number of names or handlers.
enum Action: Sendable {
  case add(Kind)
  case addGroup([Kind])
  case remove(Int)
  case removeNamed(Int)
  case removeAll
  case lock(Int)
  case unlock(Int)
  case lockNamed(Int)
  case unlockAll
  case gate(Bool)
  case dropOwner(Int)
  case post(Int)

  static func random(using random: inout some RandomNumberGenerator, depth: Int = 0) -> Action {
    let number = Int.random(in: 0..<1_000, using: &random)
    switch Int.random(in: 0..<40, using: &random) {
    case 0..<12: return depth < 3 ? .add(.random(using: &random, depth: depth)) : .post(number)
    case 12: return depth < 2 ? .addGroup((0..<3).map { _ in .random(using: &random, depth: depth) }) : .post(number)
    case 13..<18: return .remove(number)
    case 18: return .removeNamed(number)
    case 19: return number % 5 == 0 ? .removeAll : .unlockAll
    case 20..<24: return .lock(number)
    case 24..<28: return .unlock(number)
    case 28: return .lockNamed(number)
    case 29: return .gate(true)
    case 30..<33: return .gate(false)
    case 33..<35: return .dropOwner(number)
    default: return .post(number)
    }
  }
}

/// The properties of a handler, and the actions that its first calls perform.
struct Kind: Sendable {
  var priority = 0
  var name: String?
  var isOnce = false
  var hasOwner = false
  var throwsError = false
  var actions: [Action] = []

  static func random(using random: inout some RandomNumberGenerator, depth: Int) -> Kind {
    func oneIn(_ count: Int, _ random: inout some RandomNumberGenerator) -> Bool {
      Int.random(in: 0..<count, using: &random) == 0
    }
    var kind = Kind()
    if oneIn(4, &random) { kind.priority = Int.random(in: -1...2, using: &random) }
    if oneIn(4, &random) { kind.name = World.names.randomElement(using: &random) }
    kind.isOnce = oneIn(5, &random)
    kind.hasOwner = oneIn(5, &random)
    kind.throwsError = oneIn(8, &random)
    if oneIn(3, &random) { kind.actions = (0..<2).map { _ in .random(using: &random, depth: depth + 1) } }
    return kind
  }
}
