/// The changes of handlers during a replay: before which lines handlers are added, removed, locked
/// and unlocked. The event chain and the plain loop follow the plan.
enum Plan {
  /// The number of lines between two changes.
  static let step = 97

  enum Change: Sendable {
    case lockAudit, unlockAudit, addVisitor, removeVisitor, addOnce
  }

  /// Returns the changes of handlers that are made directly before the line `number` is posted or,
  /// in the plain loop, processed.
  static func changes(before number: Int) -> [Change] {
    guard number % step == 0 else { return [] }
    switch number / step % 5 {
    case 0: return [.lockAudit, .addOnce]
    case 1: return [.addVisitor]
    case 2: return [.unlockAudit]
    case 3: return [.addOnce]
    default: return [.removeVisitor]
    }
  }
}
