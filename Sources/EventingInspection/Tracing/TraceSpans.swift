/// The occurrences and calls of a trace, put together from the records of their beginnings and
/// ends.
struct TraceSpans {
  struct Occurrence {
    let event: UInt64
    let sequence: UInt64
    let thread: UInt
    let begin: UInt64
    var end: UInt64
    let postedAt: UInt64
    /// The number of the call that sent the occurrence; 0 for none.
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
    /// The number of the lane; 0 for a call that ran inline.
    let lane: UInt64
    /// The name of a lane that handlers share.
    let laneName: String?
    let begin: UInt64
    var end: UInt64
    var outcome = Outcome.running
  }

  /// An occurrence for which a handler was not called.
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
  /// The number of overwritten records that told that an occurrence or a call begins, or that a
  /// handler was not called.
  let overwritten: Int
  /// The index of each occurrence in `occurrences`, by its id.
  private(set) var occurrencePlaces: [OccurrenceID: Int] = [:]
  /// The index of each call in `calls`, by the number of the call.
  private(set) var callPlaces: [UInt64: Int] = [:]
  /// The indices, in `calls`, of the withdrawn calls. For each, one record says that the call
  /// begins, and a later record says that the handler was not called after all.
  private var withdrawn: Set<Int> = []

  /// Pairs the records of beginnings with those of ends. Drops an end whose beginning was
  /// overwritten.
  ///
  /// - Parameters:
  ///   - contents: The chunks of the ring, and its ``TraceRing/overwritten``.
  ///   - end: The time that counts as the end of occurrences and calls that still run.
  init(_ contents: (chunks: [TraceRing.Chunk], overwritten: Int), until end: UInt64) {
    overwritten = contents.overwritten
    for chunk in contents.chunks { for record in chunk.records { add(record, chunk, until: end) } }
    guard !withdrawn.isEmpty else { return }
    calls = calls.indices.filter { !withdrawn.contains($0) }.map { calls[$0] }
    callPlaces = Dictionary(uniqueKeysWithValues: calls.enumerated().map { ($1.number, $0) })
  }

  private mutating func add(_ record: TraceRecord, _ chunk: TraceRing.Chunk, until end: UInt64) {
    let id = OccurrenceID(event: record.event, sequence: record.sequence)
    var names: TraceRing.HandlerNames? { chunk.handlers[record.handler] }
    var name: String { names?.handler ?? "handler \(record.handler)" }
    switch record.kind {
    case .occurrenceBegan:
      occurrencePlaces[id] = occurrences.count
      occurrences.append(
        Occurrence(
          event: record.event, sequence: record.sequence, thread: record.thread, begin: record.time,
          end: max(end, record.time), postedAt: record.detail, cause: record.call,
          payload: record.payload == 0 ? nil : chunk.payloads[Int(record.payload) - 1]))
    case .occurrenceEnded:
      if let place = occurrencePlaces[id] { occurrences[place].end = record.time }
    case .callBegan:
      callPlaces[record.call] = calls.count
      calls.append(
        Call(
          number: record.call, handler: record.handler, name: name, event: record.event, sequence: record.sequence,
          thread: record.thread, lane: record.detail, laneName: names?.lane,
          begin: record.time, end: max(end, record.time)))
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
