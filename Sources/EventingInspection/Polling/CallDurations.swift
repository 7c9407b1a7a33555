import Eventing

/// Computed from the rings of running traces, which do no work for it: each poll reads the new
/// records. A call whose beginning was overwritten before is not counted. Used by the thread of an
/// inspection only.
final class CallDurations {
  /// The first record that no poll has read yet: the chunk, and the index there.
  private struct Place {
    var chunk = 0
    var record = 0
  }

  private struct OpenCall {
    let handler: UInt64
    let begunAt: UInt64
  }

  /// For each event, the one ring from which calls are counted, because each call is in the rings
  /// of all traces of the event.
  private var counted: [UInt64: TraceRing] = [:]
  private var places: [(ring: TraceRing, place: Place)] = []
  private var openCalls: [UInt64: OpenCall] = [:]
  private var histograms: [UInt64: DurationHistogram] = [:]
  private var changed: Set<UInt64> = []

  /// Above this number, a poll removes all open calls, and their durations are not counted.
  private static let mostOpen = 65_536

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

  /// Only from the ring that was read first, if several traces record the event.
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

  func timing(of handler: UInt64) -> CallTiming? {
    histograms[handler].map { histogram in
      CallTiming(p50: histogram.percentile(0.5), p99: histogram.percentile(0.99), count: histogram.count)
    }
  }

  func forget(_ handler: UInt64) { histograms[handler] = nil }

  func removeAll() { (places, counted, openCalls, histograms, changed) = ([], [:], [:], [:], []) }
}

/// The durations are in nanoseconds.
struct CallTiming: Equatable {
  let p50: UInt64
  let p99: UInt64
  let count: Int
}

/// One bucket for each nanosecond below 8, then eight for each power of two. So a percentile is at
/// most 6.25 % too large or too small.
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

  private static func middle(of bucket: Int) -> UInt64 {
    guard bucket >= 8 else { return UInt64(bucket) }
    let power = UInt64(bucket / 8 + 2)
    let width = UInt64(1) << (power - 3)
    return (UInt64(1) << power) + UInt64(bucket % 8) * width + width / 2
  }

  /// Such as 0.99 for the 99th percentile.
  func percentile(_ part: Double) -> UInt64 {
    var left = max(1, Int((Double(count) * part).rounded(.up)))
    for (bucket, here) in counts.enumerated() {
      left -= Int(here)
      if left <= 0 { return Self.middle(of: bucket) }
    }
    return 0
  }
}
