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
  /// Calls that were taken out and put back, with the turns that they had: they come first, in the order of their turns.
  private var returned: [(turn: UInt64, call: Waiting)] = []
  /// Whether `returned` is in order, the first one last.
  private var isSorted = true

  init(_ buffering: Buffering) { self.buffering = buffering }

  /// How many calls, barriers and ends wait.
  var count: Int { waiting + followers.count }
  var isEmpty: Bool { waiting == 0 && followers.isEmpty }
  private var waiting: Int { calls.count + returned.count }

  /// - Returns: the call that is dropped instead, if there is no room.
  mutating func append(_ item: LaneItem<Payload>) -> Dropped? {
    guard case .call(let payload, let flight) = item else {
      followers.append((appended, item))
      return nil
    }
    var dropped: Dropped?
    switch buffering.decision(waiting: waiting, isSend: flight?.isSend == true) {
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

  /// Puts back one of several calls that were taken out and are put back in any order: they come to stand in the order of their turns. Nobody waits for it any more.
  mutating func putBack(_ payload: Payload, _ flight: Flight?, turn: UInt64) {
    returned.append((turn, (payload, flight)))
    isSorted = false
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
    if let follower = followers.first, follower.after <= appended - UInt64(waiting) {
      return followers.popFirst()?.item
    }
    return popFirstCall().map { .call($0.payload, $0.flight) }
  }

  private mutating func popFirstCall() -> Waiting? {
    if returned.isEmpty { return calls.popFirst() }
    if !isSorted { returned.sort { $0.turn > $1.turn } }
    isSorted = true
    return returned.removeLast().call
  }
}
