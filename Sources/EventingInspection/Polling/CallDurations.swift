import Eventing

/// The durations of the calls of traced handlers, computed from the rings of running traces. Only
/// the thread of an inspection uses this object.
///
/// The traces do no work for the durations: each poll reads the records that were added since the
/// poll before. If the beginning of a call was overwritten before a poll read it, the call is not
/// counted.
final class CallDurations {
  /// The place of the first trace record that no poll has read yet, in the ring of one trace: the
  /// number of its chunk, and its index there.
  private struct Place {
    var chunk = 0
    var record = 0
  }

  /// A call whose beginning a poll has read, and whose end no poll has read yet.
  private struct OpenCall {
    let handler: UInt64
    let begunAt: UInt64
  }

  /// For each event, by its number: the ring of the one trace from which the calls of its handlers
  /// are counted. If several traces record the event, each call is in all their rings, and must be
  /// counted once.
  private var counted: [UInt64: TraceRing] = [:]
  private var places: [(ring: TraceRing, place: Place)] = []
  private var openCalls: [UInt64: OpenCall] = [:]
  private var histograms: [UInt64: DurationHistogram] = [:]
  /// The handlers whose durations have changed since the last call of ``takeChanged()``.
  private var changed: Set<UInt64> = []

  /// The largest number of calls in `openCalls` after a poll. If there are more, the poll removes
  /// all of them, and their durations are not counted.
  private static let mostOpen = 65_536

  /// Reads the new records of the running traces.
  ///
  /// - Complexity: O(new records).
  func read() {
    let rings = RunningTraces.rings
    if rings.isEmpty, places.isEmpty { return }
    if places.contains(where: { old in !rings.contains { $0 === old.ring } }) {
      counted = counted.filter { entry in rings.contains { $0 === entry.value } }
    }
    places = rings.map { ring in places.first { $0.ring === ring } ?? (ring, Place()) }
    for index in places.indices { read(&places[index].place, places[index].ring) }
    if openCalls.count > Self.mostOpen || places.isEmpty { openCalls = [:] }
  }

  /// Returns the handlers whose durations have changed since the last call of this method.
  func takeChanged() -> Set<UInt64> {
    defer { changed = [] }
    return changed
  }

  private func read(_ place: inout Place, _ ring: TraceRing) {
    for chunk in ring.contents(from: place.chunk).chunks {
      let first = chunk.number == place.chunk ? place.record : 0
      for record in chunk.records.dropFirst(first) where isCounted(record, in: ring) { add(record) }
      place = Place(chunk: chunk.number, record: chunk.records.count)
    }
  }

  /// Returns whether a record is counted. If several traces record one event, each of its calls is
  /// in several rings: only the records in the ring that was read first are counted.
  private func isCounted(_ record: TraceRecord, in ring: TraceRing) -> Bool {
    let known = counted[record.event]
    if known == nil { counted[record.event] = ring }
    return known == nil || known === ring
  }

  private func add(_ record: TraceRecord) {
    switch record.kind {
    case .callBegan: openCalls[record.call] = OpenCall(handler: record.handler, begunAt: record.time)
    case .callWithdrawn: openCalls[record.call] = nil
    case .callReturned, .callThrew, .callDropped:
      guard let call = openCalls.removeValue(forKey: record.call) else { return }
      let duration = record.time >= call.begunAt ? record.time - call.begunAt : 0
      histograms[call.handler, default: DurationHistogram()].add(duration)
      changed.insert(call.handler)
    case .occurrenceBegan, .occurrenceEnded, .skipped, .dropped, .held: break
    }
  }

  /// Returns the percentiles of a handler's durations; `nil` if none of its calls was timed.
  func timing(of handler: UInt64) -> CallTiming? {
    histograms[handler].map { histogram in
      CallTiming(p50: histogram.percentile(0.5), p99: histogram.percentile(0.99), count: histogram.count)
    }
  }

  func forget(_ handler: UInt64) { histograms[handler] = nil }

  func removeAll() { (places, counted, openCalls, histograms, changed) = ([], [:], [:], [:], []) }
}

/// The durations of the timed calls of one handler, in nanoseconds.
struct CallTiming: Equatable {
  let p50: UInt64
  let p99: UInt64
  /// The number of timed calls.
  let count: Int
}

/// Durations in buckets: one for each nanosecond below 8, then eight for each power of two. So a
/// percentile is at most 6.25 % too large or too small.
struct DurationHistogram {
  static let bucketCount = 62 * 8
  private var counts = [UInt32](repeating: 0, count: bucketCount)
  private(set) var count = 0

  mutating func add(_ duration: UInt64) {
    counts[Self.bucket(of: duration)] &+= 1
    count += 1
  }

  static func bucket(of duration: UInt64) -> Int {
    guard duration >= 8 else { return Int(duration) }
    let power = 63 - duration.leadingZeroBitCount
    return (power - 2) * 8 + Int(duration >> UInt64(power - 3) & 7)
  }

  /// Returns the middle of a bucket.
  private static func middle(of bucket: Int) -> UInt64 {
    guard bucket >= 8 else { return UInt64(bucket) }
    let power = UInt64(bucket / 8 + 2)
    let width = UInt64(1) << (power - 3)
    return (UInt64(1) << power) + UInt64(bucket % 8) * width + width / 2
  }

  /// Returns the duration that the given part of all durations does not exceed, such as 0.99 for
  /// the 99th percentile.
  func percentile(_ part: Double) -> UInt64 {
    var left = max(1, Int((Double(count) * part).rounded(.up)))
    for (bucket, here) in counts.enumerated() {
      left -= Int(here)
      if left <= 0 { return Self.middle(of: bucket) }
    }
    return 0
  }
}
