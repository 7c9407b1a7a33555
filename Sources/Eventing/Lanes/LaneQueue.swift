/// What waits on a lane that may be bounded: calls, of which some may be dropped, and what passes when all calls before it have left.
///
/// A plain value without threads; the lane guards it. All of it is O(1), amortized, however much waits.
struct LaneQueue: ~Copyable {
  private let buffering: Buffering
  private var calls: PayloadQueue<CallHeader>
  /// Barriers and the end, each with how many calls were appended before it.
  private var followers = Deque<(after: UInt64, item: LaneItem)>()
  private var appended: UInt64 = 0
  /// Calls that were taken out and enqueue back, with the turns that they had: they come first, in the order of their turns.
  private var returned: [(turn: UInt64, call: OverlappingCall)] = []
  /// Whether `returned` is in order, the first one last.
  private var isSorted = true

  private struct CallHeader: PayloadHeader {
    var completion: Completion?
  }

  /// A call that is dropped because there is no room: the one that came, or one that waited. Its payload is destroyed with it, which must not be under a lock.
  struct Dropped: ~Copyable {
    let completion: Completion?
    let isNew: Bool
    fileprivate let payload: OwnedPayload?
    fileprivate var call: OverlappingCall?
  }

  /// What was taken out. Its payload is destroyed with it, which must not be under a lock.
  struct Popped: ~Copyable {
    let item: LaneItem
    /// Of a call.
    var payload: OwnedPayload?

    /// The call that it is, if it is one.
    consuming func call(_ completion: Completion?) -> OverlappingCall? {
      guard let payload = payload.take() else { return nil }
      return OverlappingCall(payload, completion)
    }
  }

  init(_ buffering: Buffering, _ type: PayloadType) {
    self.buffering = buffering
    calls = PayloadQueue(type)
  }

  /// How many calls, barriers and ends wait.
  var count: Int { waiting + followers.count }
  var isEmpty: Bool { waiting == 0 && followers.isEmpty }
  private var waiting: Int { calls.count + returned.count }

  /// Appends a barrier, or the end.
  mutating func append(_ item: LaneItem) { followers.append((appended, item)) }

  /// Appends a call.
  ///
  /// - Returns: the call that is dropped instead, if there is no room.
  mutating func append(_ payload: BorrowedPayload, _ completion: Completion?) -> Dropped? {
    var dropped: Dropped?
    switch buffering.decision(waiting: waiting, isSend: completion?.isSend == true) {
    case .keep: break
    case .dropIt: return Dropped(completion: completion, isNew: true, payload: nil)
    case .dropOldest:
      if let call = popReturned() {
        dropped = Dropped(completion: call.completion, isNew: false, payload: nil, call: call)
      } else {
        let completion = calls.takeFirst().completion
        dropped = Dropped(completion: completion, isNew: false, payload: calls.parcelOfTaken())
      }
    }
    calls.append(CallHeader(completion: completion), payload)
    appended += 1
    return dropped
  }

  /// Puts back the call that was first, and that was moved to a lane's batch.
  mutating func putBack(takenFrom batch: inout PayloadQueue<LaneItem>, _ completion: Completion?) {
    calls.prepend(CallHeader(completion: completion), takenFrom: &batch)
  }

  /// Puts back one of several calls that were taken out and are enqueue back in any order: they come to stand in the order of their turns. Nobody waits for it any more.
  mutating func putBack(_ call: OverlappingCall, turn: UInt64) {
    call.detachWaiters()
    returned.append((turn, call))
    isSorted = false
  }

  /// Takes out the first of the calls that were enqueue back; nil if there is none. They come before all others.
  mutating func popReturned() -> OverlappingCall? {
    if !isSorted { returned.sort { $0.turn > $1.turn } }
    isSorted = true
    return returned.popLast()?.call
  }

  /// Takes the waiters of all items out: nothing waits for them any more. O(n)
  mutating func detachWaiters() -> DetachedWaiters {
    var waiters = DetachedWaiters()
    for i in 0..<calls.count { calls[i].completion = waiters.detach(calls[i].completion) }
    followers.update { $0.item = waiters.detach($0.item) }
    return waiters
  }

  /// Moves what is first to a lane's batch, if there is something.
  mutating func moveFirst(to batch: inout PayloadQueue<LaneItem>) {
    if let follower = takeFollower() { return batch.append(follower) }
    guard !calls.isEmpty else { return }
    batch.append(.call(calls.takeFirst().completion), takenFrom: &calls)
  }

  mutating func popFirst() -> Popped? {
    if let follower = takeFollower() { return Popped(item: follower, payload: nil) }
    guard !calls.isEmpty else { return nil }
    let completion = calls.takeFirst().completion
    return Popped(item: .call(completion), payload: calls.parcelOfTaken())
  }

  /// The barrier, or the end, before which no call is left.
  private mutating func takeFollower() -> LaneItem? {
    guard let follower = followers.first, follower.after <= appended - UInt64(waiting) else { return nil }
    return followers.popFirst()?.item
  }
}
