import Testing

@testable import EventingInspection

/// Tests of records at the border between two chunks of a ring.
@Suite struct TraceRingTests {
  private func record(_ kind: TraceRecord.Kind, call: UInt64 = 0, handler: UInt64 = 0) -> TraceRecord {
    var record = TraceRecord(kind: kind, thread: 1, time: 1, event: 1, sequence: 1)
    (record.call, record.handler) = (call, handler)
    return record
  }

  /// Checks a record whose chunk becomes full while the closure that returns the names of its
  /// handler runs, as if other threads appended records.
  @Test func aNameIsInTheChunkOfItsRecord() {
    let ring = TraceRing(megabytes: 1)
    var isFirst = true
    for call in 1...2 as ClosedRange<UInt64> {
      ring.append(record(.callBegan, call: call, handler: 7)) {
        if isFirst { while ring.contents().chunks.count == 1 { ring.append(record(.occurrenceBegan)) } }
        isFirst = false
        return TraceRing.HandlerNames(handler: "seven")
      }
    }
    let chunks = ring.contents().chunks
    let found = chunks.filter { chunk in chunk.records.contains { $0.handler == 7 } }
    #expect(!found.isEmpty && found.allSatisfy { $0.handlers[7]?.handler == "seven" })
    #expect(chunks.reduce(0) { $0 + $1.records.count { $0.handler == 7 } } == 2)
  }

  /// Checks a call that a trace first tells as begun, and then as withdrawn, because the handler is
  /// skipped. The records of the two lie before, at or behind the end of a chunk.
  @Test func aWithdrawnCallIsTakenOutOfTheChunkInWhichItBegan() {
    let most = TraceRing.chunkBytes / MemoryLayout<TraceRecord>.stride
    for before in (most - 3)...most {
      let ring = TraceRing(megabytes: 1)
      for _ in 0..<before { ring.append(record(.occurrenceBegan)) }
      ring.append(record(.callBegan, call: 1))
      ring.append(record(.callWithdrawn, call: 1))
      let chunks = ring.contents().chunks
      #expect(chunks.map(\.beginnings) == chunks.map { chunk in chunk.records.count { $0.kind == .occurrenceBegan } })
      #expect(ring.count == before && ring.overwritten == 0)
      // The ring overwrites the first chunk. It adds the records of that chunk to `overwritten`,
      // without those of the withdrawn call.
      while ring.overwritten == 0 { ring.append(record(.occurrenceBegan)) }
      #expect(ring.overwritten == most - min(2, most - before))
    }
  }
}
