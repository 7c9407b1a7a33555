import Testing

@testable import EventingInspection

/// Tests which slot of its lane a call has in a trace file, and what it costs to find the slot.
@Suite struct LaneSlotTests {
  @Test func eachCallTakesTheFirstFreeSlot() {
    var (slots, times, generator): (LaneSlots, [UInt64], _) = (LaneSlots(), [], SystemRandomNumberGenerator())
    var begin: UInt64 = 0
    for _ in 0..<2_000 {
      begin += .random(in: 0...5, using: &generator)
      let end = begin + .random(in: 0...100, using: &generator)
      let expected = times.firstIndex { $0 <= begin } ?? times.count
      if expected == times.count { times.append(0) }
      times[expected] = end
      #expect(slots.take(from: begin, until: end) == expected)
    }
  }

  /// Returns the number of comparisons for calls that all run at once, and for as many calls after
  /// them.
  private func comparisons(for count: Int) -> Int {
    var slots = LaneSlots()
    for number in 0..<count { _ = slots.take(from: UInt64(number), until: UInt64(2 * count - number)) }
    for number in 0..<count { _ = slots.take(from: UInt64(3 * count), until: UInt64(3 * count + number + 1)) }
    return slots.comparisonCount
  }

  @Test func aSlotIsFoundWithoutALookAtAllOfThem() {
    let (few, many) = (comparisons(for: 1_000), comparisons(for: 16_000))
    #expect(many < 32 * few, "\(few) comparisons for 1,000 calls, \(many) for 16,000")
  }
}
