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

  /// Checks a trace of two events that ends at 10, but whose second event still records until 14: the
  /// call of the first one, at 5, has posted to the second one, whose delivery begins at 12.
  @Test func nothingAfterTheEndOfATraceIsInIt() {
    let ring = TraceRing(megabytes: 1)
    func record(_ kind: TraceRecord.Kind, _ time: UInt64, event: UInt64, call: UInt64 = 0, cause: UInt64 = 0) {
      var record = TraceRecord(kind: kind, thread: 1, time: time, event: event, sequence: 1)
      (record.call, record.handler) = (cause == 0 ? call : cause, call)
      ring.append(record) { TraceRing.HandlerNames(handler: "\(call)") }
    }
    record(.occurrenceBegan, 4, event: 1)
    record(.callBegan, 5, event: 1, call: 1)
    record(.occurrenceBegan, 6, event: 2)
    record(.callBegan, 7, event: 2, call: 2)
    record(.callReturned, 11, event: 2, call: 2)
    record(.occurrenceEnded, 12, event: 2)
    record(.occurrenceBegan, 12, event: 3, cause: 1)
    record(.callBegan, 13, event: 3, call: 3)
    record(.skipped, 14, event: 3)
    let spans = TraceSpans(ring.contents(), until: 10)
    #expect(spans.occurrences.map(\.event) == [1, 2] && spans.occurrences.map(\.end) == [10, 10])
    #expect(spans.calls.map(\.number) == [1, 2] && spans.calls.map(\.end) == [10, 10])
    #expect(spans.calls.map(\.outcome) == [.running, .running] && spans.noCalls.isEmpty)
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
