/// Each buffer has a share, because each loop handles the occurrence by itself. If a mark is
/// released without ``handled()`` for each share, a loop hasn't handled the occurrence: the loop
/// ended early, or no buffer had room. Because of that effect, no mark is released under a mutex.
@usableFromInline package protocol OccurrenceMark: AnyObject, Sendable {
  func share()
  func handled()
}

/// Empty until the first mark, so that a payload costs one comparison if there is no transport.
struct MarkQueue: Sendable {
  private var marks = Deque<(any OccurrenceMark)?>()
  private(set) var isOn = false

  @inline(__always) mutating func append(_ mark: (any OccurrenceMark)?, after count: Int) {
    if isOn || mark != nil { appendPlace(mark, after: count) }
  }

  private mutating func appendPlace(_ mark: (any OccurrenceMark)?, after count: Int) {
    if !isOn { for _ in 0..<count { marks.append(nil) } }
    isOn = true
    marks.append(mark)
  }

  /// Adds a share to each mark. Memory isn't shared: an iterator modifies its marks without the
  /// mutex, which the reference count makes safe, but the thread sanitizer doesn't see that.
  func copy() -> MarkQueue {
    var copy = MarkQueue()
    copy.isOn = isOn
    marks.forEach {
      $0?.share()
      copy.marks.append($0)
    }
    return copy
  }

  /// The caller holds no mutex.
  func withdraw() { marks.forEach { $0?.handled() } }

  /// The caller releases the mark after unlocking.
  mutating func popFirst() -> (any OccurrenceMark)? { marks.popFirst() ?? nil }
}

extension Delivery {
  func makeMark() -> (any OccurrenceMark)? { completion?.account?.makeMark?() }
}

/// An element of a sequence that also shows where payloads were dropped: see
/// ``EventSource/arrivals(named:buffering:)``.
public enum EventArrival<Payload: Sendable>: Sendable {
  /// The next payload.
  case payload(Payload)
  /// The number of payloads that were dropped at this place.
  case dropped(Int)
}

extension EventArrival: Equatable where Payload: Equatable {}
extension EventArrival: Hashable where Payload: Hashable {}
