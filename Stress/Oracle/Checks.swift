import Foundation

/// Counts the checks and the violations of each guarantee. Any thread may use these counts.
// Safe: `lock` guards `messages`; all other parts are immutable or atomic.
final class Checks: @unchecked Sendable {
  private let checked = Guarantee.allCases.map { _ in Counter() }
  private let violated = Guarantee.allCases.map { _ in Counter() }
  /// The faults that are injected into the checked workers and handlers.
  let faults: Faults
  private let place: Counter
  private let lock = NSLock()
  /// Guarded by: lock.
  private var messages: [String] = []

  /// Creates the counts of one scenario.
  ///
  /// - Parameters:
  ///   - place: The number of the current round, for the messages.
  ///   - faults: The faults that are injected into the checked workers and handlers.
  init(round place: Counter, _ faults: Faults) {
    self.place = place
    self.faults = faults
  }

  /// Counts a check, and its violation if the check does not hold.
  ///
  /// - Parameters:
  ///   - text: The message of the violation: what was expected, and the actual result.
  @discardableResult func expect(_ guarantee: Guarantee, _ holds: Bool, _ text: @autoclosure () -> String) -> Bool {
    count(guarantee, 1)
    if !holds { violate(guarantee, text()) }
    return holds
  }

  /// Counts checks as made. The caller reports each violation by ``violate(_:_:)``.
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

  /// The messages of the first violations.
  var firstMessages: [String] { lock.withLock { messages } }

  private static let indices = Dictionary(uniqueKeysWithValues: Guarantee.allCases.enumerated().map { ($1, $0) })
  private static func index(_ guarantee: Guarantee) -> Int { indices[guarantee] ?? 0 }
}
