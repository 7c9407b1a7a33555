import Synchronization

/// One block or task at a time that makes calls of a lane, one after the other.
// Safe: each field says what guards it. While the worker is not idle, its block or task owns the
// other fields.
@safe package final class Worker: ExecutionSlot, @unchecked Sendable {
  /// The call that the worker makes, or made last, and which it owns. A strong reference would be
  /// retained by each use.
  @exclusivity(unchecked) private var ownCall: Unmanaged<Call>
  /// Whether the worker begins with the call that it has: it was taken for the worker, or its delay
  /// between two attempts is over.
  @exclusivity(unchecked) var hasCall = false
  /// Whether nothing waited any more when the worker had taken items at once.
  @exclusivity(unchecked) var dequeuedAll = false
  /// The handler of which the worker has taken items at once: see ``HandlerQueue/ready``.
  @exclusivity(unchecked) var ready: Unmanaged<HandlerQueue>?
  /// Whether the end of the call has to be noted under the mutex.
  @exclusivity(unchecked) var owesEnd = false
  /// A key whose next call the worker takes next.
  @exclusivity(unchecked) var released: Unmanaged<KeyQueue>?
  /// Whether the worker is about to look for a call. Guarded by: lane.mutex.
  @exclusivity(unchecked) var isComing = false
  /// The index in the workers of the lane. Guarded by: lane.mutex.
  @exclusivity(unchecked) var index = 0
  /// Whether the worker is not in the graph of waits yet.
  @exclusivity(unchecked) var isNew = true

  override init(of handler: UInt64) {
    unsafe ownCall = .passRetained(Call())
    super.init(of: handler)
    call.worker.set(self)
  }

  deinit { unsafe ownCall.release() }

  var call: Call { unsafe ownCall.takeUnretainedValue() }

  /// The call, without a retain.
  @inline(__always) func withCall<Result>(_ body: (Call) throws -> Result) rethrows -> Result {
    unsafe try ownCall._withUnsafeGuaranteedRef(body)
  }

  /// Whether the call is one of the given handler.
  @inline(__always) func isBusy(with member: HandlerQueue) -> Bool {
    withCall { unsafe $0.member?.toOpaque() == Unmanaged.passUnretained(member).toOpaque() }
  }

  private func setCall(_ call: Call) {
    self.call.worker.clear()
    unsafe ownCall.release()
    unsafe ownCall = .passRetained(call)
    call.worker.set(self)
  }

  /// The handler of the call.
  var member: HandlerQueue { unsafe call.member.unsafelyUnwrapped.takeUnretainedValue() }

  /// Takes over a call that has waited without a worker. The caller holds the mutex.
  func adopt(_ call: Call) {
    setCall(call)
    let member = member
    unsafe owesEnd = member.isTracked || mutant(.retryLosesItsPlace)
    if let key = unsafe call.key { unsafe key._withUnsafeGuaranteedRef { $0.worker.set(self) } }
    member.noteAdopted(call)
  }

  /// Leaves the call to others, and takes a new object for the next one. The caller holds the
  /// mutex.
  func leaveCall() {
    let next = Call()
    next.reserve(for: member)
    setCall(next)
    unsafe owesEnd = false
  }

  /// Ends the call that the worker has made. The caller holds the mutex.
  @inline(__always) func end(_ after: inout HandlerLane.After) {
    unsafe owesEnd = false
    withCall { call in
      if unsafe !call.barriers.isEmpty {
        after.add { unsafe $0.passed += call.barriers.map { ($0, call) } }
        unsafe call.barriers = []
      }
      unsafe call.member.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.noteEnd(of: call, on: self, &after) }
    }
  }

  func beginsWithCall() -> Bool {
    defer { unsafe hasCall = false }
    return unsafe hasCall
  }
}
