/// The queue of a lane that may be bounded.
///
/// A call in the queue may be dropped. A barrier may not, and neither may the item `.end`, which
/// ends the lane. So barriers and that item are kept apart from the calls. Each is taken out after
/// all calls that were appended before it.
///
/// A value without synchronization; the lane guards it. Methods that destroy a payload must not be
/// called under a mutex. Complexity: O(1), amortized, unless a method says otherwise.
struct LaneQueue: ~Copyable {
  private let buffering: Buffering
  private var calls: PayloadQueue<CallHeader>
  /// Barriers, and the item `.end`, which ends the lane; each with the number of calls that were
  /// appended before it.
  private var followers = Deque<(after: UInt64, item: LaneItem)>()
  /// The number of calls that were ever appended.
  private var appended: UInt64 = 0

  private struct CallHeader: PayloadHeader {
    var completion: Completion?
  }

  /// A call that is dropped because there is no room: the new one, or one that waited.
  ///
  /// Destroying the value destroys the payload, and must not happen under a mutex.
  struct Dropped: ~Copyable {
    let completion: Completion?
    /// Whether the new call is dropped, and not one that waited.
    let isNew: Bool
    fileprivate let payload: OwnedPayload?
  }

  /// An item that was taken out.
  ///
  /// Destroying the value destroys the payload, and must not happen under a mutex.
  struct Popped: ~Copyable {
    let item: LaneItem
    /// The payload of a call; `nil` for another item.
    var payload: OwnedPayload?
  }

  init(_ buffering: Buffering, _ type: PayloadType) {
    self.buffering = buffering
    calls = PayloadQueue(type)
  }

  /// The number of calls, barriers and ends that wait.
  var count: Int { callCount + followers.count }
  var isEmpty: Bool { callCount == 0 && followers.isEmpty }
  /// The number of calls that wait.
  var callCount: Int { calls.count }

  /// Appends a barrier, or the end of the lane.
  mutating func append(_ item: LaneItem) { followers.append((appended, item)) }

  /// Appends a call.
  ///
  /// - Returns: The call that is dropped for want of room: this one, or one that waited.
  mutating func append(_ payload: BorrowedPayload, _ completion: Completion?) -> Dropped? {
    var dropped: Dropped?
    switch buffering.decision(waiting: callCount, completion) {
    case .keep: break
    case .dropIt: return Dropped(completion: completion, isNew: true, payload: nil)
    case .dropOldest:
      let completion = calls.takeFirst().completion
      dropped = Dropped(completion: completion, isNew: false, payload: calls.ownedPayloadOfTaken())
    }
    calls.append(CallHeader(completion: completion), payload)
    appended += 1
    return dropped
  }

  /// Takes all calls out. Barriers, and the item that ends the lane, stay.
  mutating func takeCalls() -> LaneQueue {
    LaneQueue(buffering, calls.takeAll())
  }

  private init(_ buffering: Buffering, _ calls: consuming PayloadQueue<CallHeader>) {
    self.buffering = buffering
    self.calls = calls
  }

  /// Puts back, as the first call, one that ``moveFirst(to:)`` moved to `batch`.
  mutating func putBack(takenFrom batch: inout PayloadQueue<LaneItem>, _ completion: Completion?) {
    calls.prepend(CallHeader(completion: completion), takenFrom: &batch)
  }

  /// Removes the waiters of all items. Complexity: O(*n*).
  mutating func detachWaiters() -> DetachedWaiters {
    var waiters = DetachedWaiters()
    for i in 0..<calls.count { calls[i].completion = waiters.detach(calls[i].completion) }
    followers.update { $0.item = waiters.detach($0.item) }
    return waiters
  }

  /// Moves the first item, if there is one, to the end of `batch`: the items that the drain of the
  /// lane has dequeued.
  mutating func moveFirst(to batch: inout PayloadQueue<LaneItem>) {
    if let follower = takeFollower() { return batch.append(follower) }
    guard !calls.isEmpty else { return }
    batch.append(.call(calls.takeFirst().completion), takenFrom: &calls)
    calls.recycle()
  }

  /// Removes and returns the first item; `nil` if there is none.
  mutating func popFirst() -> Popped? {
    if let follower = takeFollower() { return Popped(item: follower, payload: nil) }
    guard !calls.isEmpty else { return nil }
    let completion = calls.takeFirst().completion
    let payload = calls.ownedPayloadOfTaken()
    calls.recycle()
    return Popped(item: .call(completion), payload: payload)
  }

  /// Removes and returns the first of the `followers` (a barrier, or the item that ends the lane),
  /// if no call is left that was appended before it.
  private mutating func takeFollower() -> LaneItem? {
    guard let follower = followers.first, follower.after <= appended - UInt64(callCount) else { return nil }
    return followers.popFirst()?.item
  }
}
