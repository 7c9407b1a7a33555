#if DEBUG
  import Testing

  @testable import Eventing

  /// Tests that compare `PriorityTable`, `PriorityBucket` and `HandlerSlot` with an array, without
  /// threads.
  @Suite(.fewAtATime) struct PriorityTableTests {
    @Test func slotsAreInTheOrderOfPriorityAndAdditionAfterRandomChanges() async {
      #expect(await onThread(firstMistakeOfRandomChanges) == nil)
    }

    @Test func everyShortSequenceOfChangesLeavesTheTableRight() async {
      #expect(await onThread(firstMistakeOfShortSequences) == nil)
    }

    @Sendable private func firstMistakeOfRandomChanges() -> String? {
      var random = SeededGenerator.fresh("table")
      for _ in 0..<60 {
        var checked = CheckedTable()
        for step in 0..<400 {
          // The table grows at first and shrinks in the end, so that it passes through every size.
          let wantsMore = Int.random(in: 0..<400, using: &random) > step
          switch Int.random(in: 0..<20, using: &random) {
          case 0: checked.compact()
          case 1..<14 where wantsMore:
            checked.append(priority: [0, 0, 0, 1, -1, .max, .min].randomElement(using: &random)!)
          default: if !checked.isEmpty { checked.remove(at: checked.someIndex(using: &random)) }
          }
          if let mistake = checked.mistake() { return "step \(step), EVENTING_SEED=\(random.seed): \(mistake)" }
        }
      }
      return nil
    }

    @Sendable private func firstMistakeOfShortSequences() -> String? {
      // All sequences of six changes. A change adds at priority 0, adds at priority 1, removes one
      // of the first three handlers, or compacts.
      let choices = 6
      for number in 0..<(choices * choices * choices * choices * choices * choices) {
        var checked = CheckedTable()
        var code = number
        for _ in 0..<6 {
          switch code % choices {
          case 0: checked.append(priority: 0)
          case 1: checked.append(priority: 1)
          case 5: checked.compact()
          case let place: if checked.count > place - 2 { checked.remove(at: place - 2) }
          }
          code /= choices
        }
        if let mistake = checked.mistake() { return "sequence \(number): \(mistake)" }
      }
      return nil
    }

    @Test func removingASlotReturnsItsClosureWhichTheTableNoLongerRetains() {
      var table = PriorityTable()
      let closures = LiveCount()
      let seen = Recorder<Int>()
      let records = (0..<5).map { number in
        let canary = Canary(closures)
        let record = HandlerRecord(0)
        table.append(
          handler { _ in
            canary.sing()
            seen.record(number)
          }, record, priority: 0)
        return record
      }
      for number in [2, 4, 0, 3, 1] {
        do {
          let slot = table.remove(records[number], priority: 0)
          lend(1) { try? slot.call($0) }
          #expect(slot.record === records[number])
        }
        #expect(seen.values.last == number)
      }
      #expect(closures.alive == 0)
      #expect(table.count == 0)
      #expect(table.deadCount == 0)
    }

    @Test func callingADeadSlotDoesNothingUntilCompactionRemovesTheSlot() {
      var table = PriorityTable()
      let seen = Recorder<Int>()
      let records = (0..<4).map { number in
        let record = HandlerRecord(0)
        table.append(handler { _ in seen.record(number) }, record, priority: 0)
        return record
      }
      _ = table.remove(records[1], priority: 0)
      #expect(table.count == 4)
      #expect(table.deadCount == 1)
      unsafe table.forEachSlot { slot in lend(1) { unsafe try? slot.pointee.call($0) } }
      #expect(seen.values == [0, 2, 3])
      table.compact()
      #expect(table.count == 3)
      #expect(table.deadCount == 0)
    }

    @Test func theTableReleasesAllClosuresAndRecordsWhenItIsDestroyed() {
      let closures = LiveCount()
      weak var record: HandlerRecord?
      do {
        var table = PriorityTable()
        for number in 0..<100 {
          let canary = Canary(closures)
          let new = HandlerRecord(0)
          record = new
          table.append(handler { _ in canary.sing() }, new, priority: number % 3)
        }
        #expect(closures.alive == 100)
        #expect(record != nil)
      }
      #expect(closures.alive == 0)
      #expect(record == nil)
    }

    @Test func aTableOfManyPrioritiesDropsBucketsWithoutHandlers() {
      var table = PriorityTable()
      let records = (1...200).map { priority in
        let record = HandlerRecord(0)
        table.append(.none, record, priority: priority)
        return (record, priority)
      }
      #expect(unsafe table.index.count == 200)
      for (record, priority) in records { _ = table.remove(record, priority: priority) }
      #expect(unsafe table.index.isEmpty)
      #expect(table.count == 0)
    }
  }

  extension PriorityTableTests {
    // MARK: The state of a record

    @Test func ofSeveralClaimsOfAOnceRecordOneSucceeds() {
      let record = HandlerRecord(HandlerFlags.once)
      #expect(record.claim())
      #expect(!record.claim())
      #expect(!record.deactivate())
    }

    @Test func anEndedRecordCannotBeClaimed() {
      for flags in [0, HandlerFlags.once] {
        let record = HandlerRecord(flags)
        #expect(record.deactivate())
        #expect(!record.deactivate())
        #expect(!record.claim())
      }
    }

    @Test func aLockedRecordIsNotUsedUpByAClaim() {
      let record = HandlerRecord(HandlerFlags.once)
      record.set(HandlerFlags.locked)
      #expect(!record.claim())
      record.clear(HandlerFlags.locked)
      for _ in 0..<2 { record.change(LockReason.scope(1).begun) }
      record.change(LockReason.scope(1).ended)
      #expect(!record.claim())
      record.change(LockReason.scope(2).ended)
      record.set(HandlerFlags.eventLocked)
      #expect(!record.claim())
      record.clear(HandlerFlags.eventLocked)
      #expect(record.claim())
    }

    @Test func aPlainRecordCanBeClaimedAgainAndAgain() {
      let record = HandlerRecord(0)
      for _ in 0..<3 { #expect(record.claim()) }
    }
  }

  private func handler(_ body: @escaping @Sendable (Int) throws -> Void) -> ErasedHandler {
    HandlerClosure<Int>(body).erased
  }

  /// A table, and an array of its expected content.
  private struct CheckedTable: ~Copyable {
    private var table = PriorityTable()
    private var expected: [(record: HandlerRecord, priority: Int)] = []
    private let closures = LiveCount()

    var count: Int { expected.count }
    var isEmpty: Bool { expected.isEmpty }

    /// Returns a random index, often the first or the last: the table treats both ends specially.
    func someIndex(using random: inout SeededGenerator) -> Int {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: 0
      case 1: count - 1
      default: Int.random(in: 0..<count, using: &random)
      }
    }

    mutating func append(priority: Int) {
      let record = HandlerRecord(0)
      let canary = Canary(closures)
      table.append(handler { _ in canary.sing() }, record, priority: priority)
      expected.insert((record, priority), at: expected.firstIndex { $0.priority < priority } ?? expected.endIndex)
    }

    mutating func remove(at index: Int) {
      let (record, priority) = expected.remove(at: index)
      _ = table.remove(record, priority: priority)
    }

    mutating func compact() { table.compact() }

    /// Returns a description of a mistake in the table, or `nil` if there is none.
    func mistake() -> String? {
      var (slots, dead, living) = (0, 0, [ObjectIdentifier]())
      var priorities: [Int] = []
      var mistake: String?
      unsafe table.forEachBucket { bucket in
        unsafe priorities.append(bucket.pointee.priority)
        var deadHere = 0
        for slot in unsafe 0..<Int(bucket.pointee.count) {
          let record = unsafe bucket.pointee.slots[slot].record
          slots += 1
          if record.index < 0 {
            deadHere += 1
          } else {
            if Int(record.index) != slot { mistake = "a record in slot \(slot) does not know where it is" }
            living.append(ObjectIdentifier(record))
          }
        }
        dead += deadHere
        let (count, capacity) = unsafe (Int(bucket.pointee.count), Int(bucket.pointee.capacity))
        if unsafe deadHere != Int(bucket.pointee.deadCount) { mistake = "a bucket has miscounted its dead" }
        if deadHere > count / 2 { mistake = "more than half of \(count) slots are dead" }
        if capacity < count || capacity > max(64, 8 * count) {
          mistake = "room for \(capacity) in a bucket of \(count)"
        }
        if count == 0, unsafe bucket.pointee.priority != 0 { mistake = "an empty bucket stayed" }
      }
      if living != expected.map({ ObjectIdentifier($0.record) }) { mistake = "the order is wrong" }
      if priorities != priorities.sorted(by: >) || Set(priorities).count != priorities.count {
        mistake = "buckets \(priorities)"
      }
      if slots != table.count || dead != table.deadCount {
        mistake = "\(slots) slots, \(dead) dead, counted \(table.count), \(table.deadCount)"
      }
      if unsafe !table.index.isEmpty, unsafe table.index.count != priorities.count {
        mistake = "the index lacks a bucket"
      }
      if closures.alive != expected.count { mistake = "\(closures.alive) closures of \(expected.count) handlers" }
      return mistake
    }
  }
#endif
