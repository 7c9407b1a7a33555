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
    var latest: UInt64 = 0
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
  func rows(upTo limit: Int) -> (first: [InspectedRow], count: Int, latest: UInt64) {
    let changed = queue?.changed(since: shown.withLock { $0.changes })
    return shown.withLock { shown in
      if let changed { show(changed, upTo: limit, in: &shown) }
      return (shown.rows, shown.count, shown.latest)
    }
  }

  private func show(_ changed: DeadLetterQueue.Changed, upTo limit: Int, in shown: inout Shown) {
    let old = shown
    shown = Shown(changes: changed.count, latest: changed.latest, lastCause: old.lastCause)
    switch kind {
    case .causes:
      let causes = Dictionary(grouping: changed.held, by: \.letter.cause).values.sorted {
        ($1.count, $0[0].letter.cause.description) < ($0.count, $1[0].letter.cause.description)
      }
      shown.count = causes.count
      for held in causes.prefix(limit) {
        let letter = held[0].letter
        let known = old.causes[letter.cause]
        if known == nil { shown.lastCause += 1 }
        let id = known ?? shown.lastCause
        shown.causes[letter.cause] = id
        shown.rows.append(InspectedRow(id: id, isBad: true, ["\(held.count)"] + LetterTable.cells(letter)))
      }
    case .letters:
      shown.count = changed.held.count
      let sorted = changed.held.sorted { RemoteDeadLetter.isBefore($0.letter, $1.letter) }
      for held in sorted.prefix(limit) {
        let letter = held.letter
        let last = ["\(letter.attempts)", "\(letter.deaths)", letter.storedAt.formatted(.iso8601)]
        shown.rows.append(
          InspectedRow(
            id: held.number, isBad: letter.deaths > 1, [letter.id] + LetterTable.cells(letter) + last))
      }
    }
  }

  private static func cells(_ letter: RemoteDeadLetter) -> [String] {
    [letter.subject, letter.group ?? "", letter.handler ?? "", letter.reason]
  }

  func perform(_ action: String, on rows: Set<UInt64>, upTo latest: UInt64) async throws -> Int {
    guard let queue else { return 0 }
    let causes = shown.withLock { shown in Set(shown.causes.filter { rows.contains($0.value) }.keys) }
    let letters = queue.allHeld.filter { held in
      guard held.number <= latest else { return false }
      return kind == .letters ? rows.contains(held.number) : causes.contains(held.letter.cause)
    }.map(\.letter)
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
