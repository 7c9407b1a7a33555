/// One row, called a thread in the format, for each thread with a record outside of lanes, and for
/// each slot of a lane. Within a row, spans nest.
struct TraceRows {
  /// The name of row *n* is at index *n* - 1.
  private(set) var names: [String] = []
  private var threads: [UInt: Int] = [:]
  /// The row of each call, indexed like ``TraceSpans/calls``.
  private(set) var calls: [Int] = []

  init(_ spans: TraceSpans) {
    let order = spans.calls.indices.sorted { spans.calls[$0].begin < spans.calls[$1].begin }
    for occurrence in spans.occurrences { addThread(occurrence.thread) }
    for call in spans.calls where call.lane == 0 { addThread(call.thread) }
    for noCall in spans.noCalls { addThread(noCall.thread) }
    calls = Array(repeating: 0, count: spans.calls.count)
    var lanes: [UInt64: (slots: LaneSlots, rows: [Int])] = [:]
    for place in order {
      let call = spans.calls[place]
      if call.lane == 0 {
        calls[place] = thread(call.thread)
        continue
      }
      let slot = lanes[call.lane, default: (LaneSlots(), [])].slots.take(from: call.begin, until: call.end)
      if slot == lanes[call.lane]?.rows.count {
        names.append("lane \(call.lane)\(slot == 0 ? "" : ", slot \(slot + 1)"): \(call.laneName ?? call.name)")
        lanes[call.lane]?.rows.append(names.count)
      }
      calls[place] = lanes[call.lane]?.rows[slot] ?? 0
    }
  }

  func thread(_ thread: UInt) -> Int { threads[thread] ?? 0 }

  private mutating func addThread(_ thread: UInt) {
    guard threads[thread] == nil else { return }
    names.append("thread \(threads.count + 1)")
    threads[thread] = names.count
  }
}

/// Each call takes the first slot that is free when it begins, in O(log *n*) for *n* slots.
struct LaneSlots {
  private var taken = Heap<(freeAt: UInt64, slot: Int)> { ($0.freeAt, $0.slot) < ($1.freeAt, $1.slot) }
  private var free = Heap<Int>(<)
  private var count = 0

  /// For tests.
  var comparisonCount: Int { taken.comparisonCount + free.comparisonCount }

  /// Counted from 0. Calls of this method go forward in time.
  mutating func take(from begin: UInt64, until end: UInt64) -> Int {
    while let first = taken.first, first.freeAt <= begin {
      free.insert(first.slot)
      taken.removeFirst()
    }
    let slot = free.first ?? count
    if slot == count { count += 1 } else { free.removeFirst() }
    taken.insert((end, slot))
    return slot
  }
}

private struct Heap<Element> {
  private let isBefore: (Element, Element) -> Bool
  private var elements: [Element] = []
  private(set) var comparisonCount = 0

  init(_ isBefore: @escaping (Element, Element) -> Bool) { self.isBefore = isBefore }

  var first: Element? { elements.first }

  mutating func insert(_ element: Element) {
    elements.append(element)
    var place = elements.count - 1
    while place > 0, areInOrder(place, (place - 1) / 2) {
      elements.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  mutating func removeFirst() {
    elements.swapAt(0, elements.count - 1)
    elements.removeLast()
    var place = 0
    while true {
      let (left, right) = (2 * place + 1, 2 * place + 2)
      guard left < elements.count else { return }
      let child = right < elements.count && areInOrder(right, left) ? right : left
      guard areInOrder(child, place) else { return }
      elements.swapAt(child, place)
      place = child
    }
  }

  private mutating func areInOrder(_ place: Int, _ other: Int) -> Bool {
    comparisonCount += 1
    return isBefore(elements[place], elements[other])
  }
}
