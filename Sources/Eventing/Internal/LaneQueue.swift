/// What waits on a lane that may be bounded: calls, of which some may be dropped, and what passes when all calls before it have left.
///
/// A plain value without threads; the lane guards it. All of it is O(1), amortized, however much waits.
struct LaneQueue<Payload: Sendable> {
  typealias Waiting = (payload: Payload, flight: Flight?)
  /// A call that is dropped because there is no room: the one that came, or one that waited.
  typealias Dropped = (payload: Payload, flight: Flight?, isNew: Bool)

  private let buffering: Buffering
  private var calls = Queue<Waiting>()
  /// Barriers and the end, each with how many calls were appended before it.
  private var followers = Queue<(after: UInt64, item: LaneItem<Payload>)>()
  private var appended: UInt64 = 0
  /// The turns that the first calls had when they were taken out before.
  private var turnsPutBack: [UInt64] = []

  init(_ buffering: Buffering) { self.buffering = buffering }

  /// How many calls, barriers and ends wait.
  var count: Int { calls.count + followers.count }
  var isEmpty: Bool { calls.isEmpty && followers.isEmpty }

  /// - Returns: the call that is dropped instead, if there is no room.
  mutating func append(_ item: LaneItem<Payload>) -> Dropped? {
    guard case .call(let payload, let flight) = item else {
      followers.append((appended, item))
      return nil
    }
    var dropped: Dropped?
    switch buffering.decision(waiting: calls.count, isSend: flight?.isSend == true) {
    case .keep: break
    case .dropIt: return (payload, flight, true)
    case .dropOldest: dropped = popFirstCall().map { ($0.payload, $0.flight, false) }
    }
    calls.append((payload, flight))
    appended += 1
    return dropped
  }

  /// Puts back the call that was first.
  mutating func putBack(_ payload: Payload, _ flight: Flight?) { calls.prepend((payload, flight)) }

  /// Puts back one of several calls that were taken out and are put back in any order: they come to stand in the order of their turns.
  mutating func putBack(_ payload: Payload, _ flight: Flight?, turn: UInt64) {
    let at = turnsPutBack.firstIndex { $0 > turn } ?? turnsPutBack.count
    turnsPutBack.insert(turn, at: at)
    calls.insert((payload, flight), at: at)
  }

  /// From now on nobody waits for what is here: gives whoever did, for calls, and to be let through.
  mutating func withoutWaiting() -> (calls: [Flight], barriers: [Flight]) {
    var waiting: (calls: [Flight], barriers: [Flight]) = ([], [])
    calls.forEach { call in
      guard let flight = call.flight, flight.isToBeTold else { return }
      waiting.calls.append(flight)
      call.flight = flight.withoutWaiting
    }
    followers.forEach { follower in
      guard case .barrier(let flight) = follower.item else { return }
      waiting.barriers.append(flight)
      follower.item = .done
    }
    return waiting
  }

  mutating func popFirst() -> LaneItem<Payload>? {
    if let follower = followers.first, follower.after <= appended - UInt64(calls.count) {
      return followers.popFirst()?.item
    }
    return popFirstCall().map { .call($0.payload, $0.flight) }
  }

  private mutating func popFirstCall() -> Waiting? {
    if !turnsPutBack.isEmpty { turnsPutBack.removeFirst() }
    return calls.popFirst()
  }
}
