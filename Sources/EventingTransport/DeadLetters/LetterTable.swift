import Eventing
import Foundation

/// Shows the letters of a queue in an inspector.
final class LetterTable: InspectedTable {
  enum Rows: CaseIterable {
    /// A row for all letters with the same cause.
    case causes
    case letters
  }

  private struct Shown: Sendable {
    var changes = -1
    var rows: [InspectedRow] = []
    var count = 0
    /// The numbers of the letters of each row. An action takes only letters that were counted when
    /// the row was made.
    var numbers: [UInt64: [UInt64]] = [:]
    /// The id of the row of each cause.
    var causes: [DeadLetterQueue.Count: UInt64] = [:]
    var lastCause: UInt64 = 0
  }

  let title: String
  let columns: [String]
  let actions = ["Send again", "Discard"]
  private let kind: Rows
  private weak let queue: DeadLetterQueue?
  private let shown = Guarded(Shown())

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

  /// O(1) if no letter came or went, otherwise O(*n* log *n*) for *n* letters.
  func rows(upTo limit: Int) -> (first: [InspectedRow], count: Int) {
    let old = shown.withLock { $0 }
    guard let (held, changes) = queue?.held(since: old.changes) else { return (old.rows, old.count) }
    var new = Shown(changes: changes, lastCause: old.lastCause)
    switch kind {
    case .causes:
      let causes = Dictionary(grouping: held, by: \.letter.cause).values.sorted {
        ($1.count, $0[0].letter.cause.description) < ($0.count, $1[0].letter.cause.description)
      }
      new.count = causes.count
      for held in causes.prefix(limit) {
        let letter = held[0].letter
        let known = old.causes[letter.cause]
        if known == nil { new.lastCause += 1 }
        let id = known ?? new.lastCause
        new.causes[letter.cause] = id
        new.rows.append(InspectedRow(id: id, isBad: true, ["\(held.count)"] + LetterTable.cells(letter)))
        new.numbers[id] = held.map(\.number)
      }
    case .letters:
      new.count = held.count
      let sorted = held.sorted { RemoteDeadLetter.isBefore($0.letter, $1.letter) }
      for held in sorted.prefix(limit) {
        let letter = held.letter
        let last = ["\(letter.attempts)", "\(letter.deaths)", letter.storedAt.formatted(.iso8601)]
        new.rows.append(
          InspectedRow(
            id: held.number, isBad: letter.deaths > 1, [letter.id] + LetterTable.cells(letter) + last))
        new.numbers[held.number] = [held.number]
      }
    }
    let result = (new.rows, new.count)
    shown.withLock { $0 = new }
    return result
  }

  private static func cells(_ letter: RemoteDeadLetter) -> [String] {
    [letter.subject, letter.group ?? "", letter.handler ?? "", letter.reason]
  }

  func perform(_ action: String, on rows: Set<UInt64>) async throws -> Int {
    guard let queue else { return 0 }
    let known = shown.withLock { $0.numbers }
    let numbers = Set(rows.flatMap { known[$0] ?? [] })
    let letters = queue.allHeld.filter { numbers.contains($0.number) }.map(\.letter)
    guard action == actions[0] else { return queue.discard(letters) }
    var count = 0
    var refusals: [any Error] = []
    for letter in letters.sorted(by: RemoteDeadLetter.isBefore) {
      do { count += try await queue.sendAgain([letter]) } catch {
        refusals.append(error)
        // A message that can't be sent does not keep the others back; a lost connection does.
        let code = (error as? TransportError)?.code
        if code != .tooLarge, code != .badSubject { break }
      }
    }
    if let first = refusals.first { throw SentInPart(count: count, refused: refusals.count, first: first) }
    return count
  }

  private struct SentInPart: Error, CustomStringConvertible {
    let count: Int
    let refused: Int
    let first: any Error
    var description: String { "sent again: \(count); not sent: \(refused), the first because: \(first)" }
  }
}
