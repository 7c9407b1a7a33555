/// What waits on a lane that may be bounded: calls, of which some may be dropped, and what passes when all calls before it have left.
///
/// A plain value without threads; the lane guards it. All of it is O(1), amortized, however much waits.
struct LaneQueue<Payload: Sendable> {
  typealias Waiting = (payload: Payload, flight: Flight?)

  private let buffering: Buffering
  private var calls = Queue<Waiting>()
  /// Barriers and the end, each with how many calls were appended before it.
  private var followers = Queue<(after: UInt64, item: LaneItem<Payload>)>()
  private var appended: UInt64 = 0

  init(_ buffering: Buffering) { self.buffering = buffering }

  var isEmpty: Bool { calls.isEmpty && followers.isEmpty }

  /// - Returns: the call that is dropped instead, if there is no room.
  mutating func append(_ item: LaneItem<Payload>) -> Waiting? {
    guard case .call(let payload, let flight) = item else {
      followers.append((appended, item))
      return nil
    }
    var dropped: Waiting?
    switch buffering.decision(waiting: calls.count, isSend: flight?.purpose == .send) {
    case .keep: break
    case .dropIt: return (payload, flight)
    case .dropOldest: dropped = calls.popFirst()
    }
    calls.append((payload, flight))
    appended += 1
    return dropped
  }

  mutating func popFirst() -> LaneItem<Payload>? {
    if let follower = followers.first, follower.after <= appended - UInt64(calls.count) {
      return followers.popFirst()?.item
    }
    return calls.popFirst().map { .call($0.payload, $0.flight) }
  }
}
