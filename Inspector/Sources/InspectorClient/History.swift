/// How many occurrences each event had in each of the last 120 seconds.
public struct History: Sendable {
  /// The number of seconds that are kept.
  public static let seconds = 120
  /// The second up to which everything is known, on the app's clock.
  public private(set) var second = 0
  private var events: [Int: Counts] = [:]

  private struct Counts {
    var sequence: Int
    /// The occurrences of a second, at its number modulo 120.
    var slots = [Int](repeating: 0, count: History.seconds)
    /// The last second whose slot holds its own count.
    var second: Int

    mutating func advance(to now: Int) {
      guard now > second else { return }
      for each in max(second + 1, now - History.seconds + 1)...now { slots[each % History.seconds] = 0 }
      second = now
    }
  }

  public init() {}

  /// Takes the sequence of an event at a time.
  ///
  /// - Parameter time: Nanoseconds on the app's clock.
  public mutating func add(_ sequence: Int, of event: Int, at time: Int) {
    let now = max(0, time) / 1_000_000_000
    var counts = events[event] ?? Counts(sequence: sequence, second: now)
    counts.advance(to: now)
    counts.slots[counts.second % Self.seconds] += max(0, sequence - counts.sequence)
    counts.sequence = sequence
    events[event] = counts
  }

  /// Says that everything is known up to a time.
  mutating func advance(to time: Int) { second = max(second, max(0, time) / 1_000_000_000) }

  mutating func remove(_ event: Int) { events[event] = nil }

  /// The counts of the last 120 seconds of an event, the oldest first; the last second is not over.
  public func counts(of event: Int) -> [Int] {
    guard var counts = events[event] else { return [] }
    counts.advance(to: second)
    return (0..<Self.seconds).map { counts.slots[(second + 1 + $0) % Self.seconds] }
  }

  /// Everything as JSON: the second, and the counts of each event that had any.
  public var asJSON: String {
    let rows = events.keys.compactMap { id -> String? in
      let counts = counts(of: id)
      return counts.contains { $0 > 0 } ? "\"\(id)\":\(counts)" : nil
    }
    return #"{"second":\#(second),"events":{\#(rows.joined(separator: ","))}}"#
  }
}
