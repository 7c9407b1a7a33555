import Testing

@testable import EventingInspection

/// Tests of trace records at the border between two chunks. A ring keeps the last records of a
/// trace in chunks of fixed size.
@Suite struct TraceRingTests {
  private func record(_ kind: TraceRecord.Kind, call: UInt64 = 0, handler: UInt64 = 0) -> TraceRecord {
    var record = TraceRecord(kind: kind, thread: 1, time: 1, event: 1, sequence: 1)
    (record.call, record.handler) = (call, handler)
    return record
  }

  /// Checks that the chunk with a trace record also has the name of the record's handler. The ring
  /// calls a closure to get the name. Here the closure adds records until the current chunk is
  /// full, as other threads may do during the call.
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

  /// Checks a withdrawn call: the trace has recorded the call of a forward with `callBegan`, but
  /// then the forward forwarded nothing. A record `callWithdrawn` says so. In the rounds of the
  /// test, the first chunk has both records, only `callBegan`, or neither of the two.
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
      // When the ring overwrites its first chunk, it adds to `overwritten` how many occurrences and
      // calls began in this chunk: here one for each record `occurrenceBegan`. The withdrawn call,
      // with the records `callBegan` and `callWithdrawn`, must not count.
      while ring.overwritten == 0 { ring.append(record(.occurrenceBegan)) }
      #expect(ring.overwritten == most - min(2, most - before))
    }
  }
}
