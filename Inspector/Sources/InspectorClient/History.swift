/// The numbers of occurrences that each event had in each of the last 120 seconds.
public struct History: Sendable {
  /// The number of seconds that are kept.
  public static let seconds = 120
  /// A second in nanoseconds.
  private static let second = 1_000_000_000
  /// The second in which the newest update was made, on the app's clock.
  public private(set) var second = 0
  private var events: [Int: Counts] = [:]
  /// The times of the newest update and of the one before it, in nanoseconds.
  private var (time, before) = (0, 0)

  private struct Counts {
    var sequence: Int
    /// The number of occurrences in each second, at the index of the second modulo 120.
    var slots = [Double](repeating: 0, count: History.seconds)
    /// The newest second whose count is in `slots`. A slot serves again every 120 s. Until
    /// `advance` sets the slot of a later second to 0, it still has the count from 120 s before
    /// that second.
    var second: Int

    mutating func advance(to now: Int) {
      guard now > second else { return }
      for each in max(second + 1, now - History.seconds + 1)...now { slots[each % History.seconds] = 0 }
      second = now
    }
  }

  public init() {}

  /// Records the `sequence` that an event has in the newest update.
  ///
  /// The occurrences since the previous update are spread evenly over the time between the two.
  public mutating func add(_ sequence: Int, of event: Int) {
    var counts = events[event] ?? Counts(sequence: sequence, second: time / Self.second)
    let more = Double(max(0, sequence - counts.sequence))
    let from = min(before, time - 1)
    for second in max(from / Self.second, time / Self.second - Self.seconds + 1)...time / Self.second {
      counts.advance(to: second)
      let length = min(time, (second + 1) * Self.second) - max(from, second * Self.second)
      counts.slots[second % Self.seconds] += more * Double(length) / Double(time - from)
    }
    counts.sequence = sequence
    events[event] = counts
  }

  /// Sets the time of the update that is applied next: when the app made it, in nanoseconds of the
  /// app's clock. `add` then records the events that the update names.
  public mutating func advance(to newest: Int) {
    guard newest > time else { return }
    (before, time) = (time, newest)
    second = newest / Self.second
  }

  mutating func remove(_ event: Int) { events[event] = nil }

  /// Removes all events but some.
  mutating func keep(only kept: Set<Int>) { events = events.filter { kept.contains($0.key) } }

  /// Returns the number of occurrences of an event in each of the last 120 seconds, the oldest
  /// second first. The last second is not over.
  public func counts(of event: Int) -> [Int] {
    guard var counts = events[event] else { return [] }
    counts.advance(to: second)
    return (0..<Self.seconds).map { Int(min(counts.slots[(second + 1 + $0) % Self.seconds], 1e15).rounded()) }
  }

  /// The history as JSON: `second`, and the ``counts(of:)`` of each event with an occurrence in the
  /// last 120 seconds.
  public var asJSON: String {
    let rows = events.keys.sorted().compactMap { id -> String? in
      let counts = counts(of: id)
      return counts.contains { $0 > 0 } ? "\"\(id)\":\(counts)" : nil
    }
    return #"{"second":\#(second),"events":{\#(rows.joined(separator: ","))}}"#
  }
}
