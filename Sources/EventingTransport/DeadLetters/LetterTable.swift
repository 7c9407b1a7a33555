import Eventing
import Foundation

/// Shows the letters of a queue in an inspector.
final class LetterTable: InspectedTable {
  enum Rows: CaseIterable {
    /// A row for all letters with the same cause. It has the number of one of them.
    case causes
    case letters
  }

  let title: String
  let columns: [String]
  let actions = ["Send again", "Discard"]
  private let kind: Rows
  private weak let queue: DeadLetterQueue?
  private let shown = Guarded((numbers: Set<UInt64>(), rows: [InspectedRow]()))

  init(_ kind: Rows, of queue: DeadLetterQueue, _ subject: String) {
    (self.kind, self.queue) = (kind, queue)
    switch kind {
    case .causes:
      title = "Causes of dead letters on \(subject)"
      columns = ["Letters", "Message subject", "Group", "Handler", "Reason"]
    case .letters:
      title = "Dead letters on \(subject)"
      columns = ["Message", "Message subject", "Group", "Handler", "Reason", "Attempts", "Deaths", "Stored"]
    }
  }

  var rows: [InspectedRow] {
    guard let queue else { return [] }
    let held = queue.allHeld
    let numbers = Set(held.map(\.number))
    if let rows = shown.withLock({ $0.numbers == numbers ? $0.rows : nil }) { return rows }
    let rows = kind == .causes ? LetterTable.causes(of: held) : LetterTable.letters(held)
    shown.withLock { $0 = (numbers, rows) }
    return rows
  }

  private static func causes(of held: [HeldLetter]) -> [InspectedRow] {
    let groups = Dictionary(grouping: held) { $0.letter.cause }
    let sorted = groups.values.sorted { ($1.count, $0[0].number) < ($0.count, $1[0].number) }
    return sorted.map { held in
      InspectedRow(
        id: held.map(\.number).min() ?? 0, isBad: true, ["\(held.count)"] + cells(held[0].letter))
    }
  }

  private static func letters(_ held: [HeldLetter]) -> [InspectedRow] {
    held.sorted { RemoteDeadLetter.isBefore($0.letter, $1.letter) }.map { held in
      let letter = held.letter
      return InspectedRow(
        id: held.number, isBad: letter.deaths > 1,
        [letter.id] + cells(letter)
          + ["\(letter.attempts)", "\(letter.deaths)", letter.storedAt.formatted(.iso8601)])
    }
  }

  private static func cells(_ letter: RemoteDeadLetter) -> [String] {
    [letter.subject, letter.group ?? "", letter.handler ?? "", letter.reason]
  }

  func perform(_ action: String, on rows: Set<UInt64>) async throws -> Int {
    guard let queue else { return 0 }
    let held = queue.allHeld
    var chosen = held.filter { rows.contains($0.number) }
    if kind == .causes {
      let causes = Set(chosen.map(\.letter.cause))
      chosen = held.filter { causes.contains($0.letter.cause) }
    }
    let letters = chosen.map(\.letter)
    return action == actions[0] ? try await queue.sendAgain(letters) : queue.discard(letters)
  }
}
