/// The guarantees that the run checks. The numbers are those of the article Guarantees.
enum Guarantee: Int, CaseIterable, Sendable, Comparable {
  case g1 = 1, g2 = 2, g3 = 3, g4 = 4, g6 = 6, g7 = 7, g8 = 8, g9 = 9, g10 = 10, g11 = 11, g12 = 12, g13 = 13, g15 = 15,
    g16 = 16
  case g19 = 19, g20 = 20, g21 = 21, g22 = 22, g23 = 23, g24 = 24

  var label: String { "G\(rawValue)" }

  /// The guarantee in a few words.
  var title: String {
    switch self {
    case .g1: "one order for all handlers"
    case .g2: "each sender in order"
    case .g3: "handlers in order"
    case .g4: "run to completion"
    case .g6: "adding holds on return"
    case .g7: "removing holds on return"
    case .g8: "once is once"
    case .g9: "locked is silent"
    case .g10: "owners end their handlers"
    case .g11: "tokens are harmless"
    case .g12: "sent before the end: delivered"
    case .g13: "lanes in order, one at a time"
    case .g15: "slow delays only itself"
    case .g16: "send waits for all"
    case .g19: "errors are kept"
    case .g20: "nothing deadlocks"
    case .g21: "nothing lost, nothing twice"
    case .g22: "nothing left behind"
    case .g23: "forwards take every path once"
    case .g24: "wrong types are refused"
    }
  }

  static func < (a: Guarantee, b: Guarantee) -> Bool { a.rawValue < b.rawValue }
}
