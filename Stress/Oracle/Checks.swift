import Foundation

/// Counts what was checked and what did not hold, by guarantee. Any thread may tell it.
// Safe: `messages` is guarded by `lock`.
final class Checks: @unchecked Sendable {
  private let checked = Guarantee.allCases.map { _ in Counter() }
  private let violated = Guarantee.allCases.map { _ in Counter() }
  /// What those are put through that are checked.
  let faults: Faults
  private let place: Counter
  private let lock = NSLock()
  private var messages: [String] = []

  /// `place` is the number of the round, for the messages.
  init(round place: Counter, _ faults: Faults) {
    self.place = place
    self.faults = faults
  }

  /// One check. `text` says what should have been and what was.
  @discardableResult func expect(_ guarantee: Guarantee, _ holds: Bool, _ text: @autoclosure () -> String) -> Bool {
    count(guarantee, 1)
    if !holds { violate(guarantee, text()) }
    return holds
  }

  /// So many checks that held, or whose failures are told one by one.
  func count(_ guarantee: Guarantee, _ number: Int) {
    if number > 0 { checked[Checks.index(guarantee)].add(number) }
  }

  func violate(_ guarantee: Guarantee, _ text: String) {
    violated[Checks.index(guarantee)].add()
    let line = "\(guarantee.label) (\(guarantee.title)), round \(place.value): \(text)"
    lock.withLock { if messages.count < 12 { messages.append(line) } }
  }

  func checkedCount(_ guarantee: Guarantee) -> Int { checked[Checks.index(guarantee)].value }
  func violatedCount(_ guarantee: Guarantee) -> Int { violated[Checks.index(guarantee)].value }
  var violatedCount: Int { violated.reduce(0) { $0 + $1.value } }

  /// The first violations.
  var firstMessages: [String] { lock.withLock { messages } }

  private static let indices = Dictionary(uniqueKeysWithValues: Guarantee.allCases.enumerated().map { ($1, $0) })
  private static func index(_ guarantee: Guarantee) -> Int { indices[guarantee] ?? 0 }
}
