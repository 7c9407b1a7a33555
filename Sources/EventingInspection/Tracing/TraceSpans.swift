/// Pairs the records of beginnings and ends.
struct TraceSpans {
  struct Occurrence {
    let event: UInt64
    let sequence: UInt64
    let thread: UInt
    let begin: UInt64
    var end: UInt64
    let postedAt: UInt64
    /// The call that sent the occurrence; 0 for none.
    let cause: UInt64
    let payload: String?
  }

  struct Call {
    enum Outcome: String { case returned, threw, dropped, running }

    let number: UInt64
    let handler: UInt64
    let name: String
    let event: UInt64
    let sequence: UInt64
    let thread: UInt
    /// 0 for a call that ran inline.
    let lane: UInt64
    /// Set for a lane that handlers share.
    let laneName: String?
    let begin: UInt64
    var end: UInt64
    var outcome = Outcome.running
  }

  struct NoCall {
    let reason: String
    let handler: UInt64
    let name: String
    let event: UInt64
    let sequence: UInt64
    let thread: UInt
    let time: UInt64
  }

  struct OccurrenceID: Hashable {
    let event: UInt64
    let sequence: UInt64
  }

  private(set) var occurrences: [Occurrence] = []
  private(set) var calls: [Call] = []
  private(set) var noCalls: [NoCall] = []
  /// Overwritten records of beginnings, and of handlers that were not called.
  let overwritten: Int
  private(set) var occurrencePlaces: [OccurrenceID: Int] = [:]
  private(set) var callPlaces: [UInt64: Int] = [:]
  /// Indices in `calls`. A later record says that the handler was not called after all.
  private var withdrawn: Set<Int> = []

  /// Drops an end whose beginning was overwritten, and what happened after the end of the trace: a
  /// trace of several events ends one event after the other, and a call that is cut off can't have
  /// led to anything later.
  ///
  /// - Parameter end: Counts as the end of what still runs.
  init(_ contents: (chunks: [TraceRing.Chunk], overwritten: Int), until end: UInt64) {
    overwritten = contents.overwritten
    for chunk in contents.chunks { for record in chunk.records { add(record, chunk, until: end) } }
    guard !withdrawn.isEmpty else { return }
    calls = calls.indices.filter { !withdrawn.contains($0) }.map { calls[$0] }
    callPlaces = Dictionary(uniqueKeysWithValues: calls.enumerated().map { ($1.number, $0) })
  }

  private mutating func add(_ record: TraceRecord, _ chunk: TraceRing.Chunk, until end: UInt64) {
    guard record.time <= end || record.kind == .callWithdrawn else { return }
    let id = OccurrenceID(event: record.event, sequence: record.sequence)
    var names: TraceRing.HandlerNames? { chunk.handlers[record.handler] }
    var name: String { names?.handler ?? "handler \(record.handler)" }
    switch record.kind {
    case .occurrenceBegan:
      occurrencePlaces[id] = occurrences.count
      occurrences.append(
        Occurrence(
          event: record.event, sequence: record.sequence, thread: record.thread, begin: record.time,
          end: end, postedAt: record.detail, cause: record.call,
          payload: record.payload == 0 ? nil : chunk.payloads[Int(record.payload) - 1]))
    case .occurrenceEnded:
      if let place = occurrencePlaces[id] { occurrences[place].end = record.time }
    case .callBegan:
      callPlaces[record.call] = calls.count
      calls.append(
        Call(
          number: record.call, handler: record.handler, name: name, event: record.event, sequence: record.sequence,
          thread: record.thread, lane: record.detail, laneName: names?.lane,
          begin: record.time, end: end))
    case .callReturned, .callThrew, .callDropped:
      guard let place = callPlaces[record.call] else { return }
      calls[place].end = record.time
      calls[place].outcome =
        record.kind == .callThrew ? .threw : record.kind == .callDropped ? .dropped : .returned
    case .callWithdrawn:
      guard let place = callPlaces.removeValue(forKey: record.call) else { return }
      withdrawn.insert(place)
    case .skipped, .dropped, .held:
      noCalls.append(
        NoCall(
          reason: "\(record.kind)", handler: record.handler, name: name, event: record.event,
          sequence: record.sequence, thread: record.thread, time: record.time))
    }
  }
}
