import Synchronization

// Safe: fields with a note say what guards them. While the worker isn't idle, its block or task
// owns the others. Callers of `adopt`, `leaveCall` and `end` hold the mutex.
@safe package final class Worker: ExecutionSlot, @unchecked Sendable {
  /// The worker owns the call. A strong reference would be retained on each use.
  @exclusivity(unchecked) private var ownCall: Unmanaged<Call>
  @exclusivity(unchecked) var hasCall = false
  @exclusivity(unchecked) var dequeuedAll = false
  @exclusivity(unchecked) var ready: Unmanaged<HandlerQueue>?
  @exclusivity(unchecked) var owesEnd = false
  @exclusivity(unchecked) var released: Unmanaged<KeyQueue>?
  /// The worker is about to look for a call. Guarded by: lane.mutex.
  @exclusivity(unchecked) var isComing = false
  // Guarded by: lane.mutex.
  @exclusivity(unchecked) var index = 0
  @exclusivity(unchecked) var isNew = true

  override init(of handler: UInt64) {
    unsafe ownCall = .passRetained(Call())
    super.init(of: handler)
    call.worker.set(self)
  }

  deinit { unsafe ownCall.release() }

  var call: Call { unsafe ownCall.takeUnretainedValue() }

  @inline(__always) func withCall<Result>(_ body: (Call) throws -> Result) rethrows -> Result {
    unsafe try ownCall._withUnsafeGuaranteedRef(body)
  }

  @inline(__always) func isBusy(with queue: HandlerQueue) -> Bool {
    withCall { unsafe $0.queue?.toOpaque() == Unmanaged.passUnretained(queue).toOpaque() }
  }

  private func setCall(_ call: Call) {
    self.call.worker.clear()
    unsafe ownCall.release()
    unsafe ownCall = .passRetained(call)
    call.worker.set(self)
  }

  var queue: HandlerQueue { unsafe call.queue.unsafelyUnwrapped.takeUnretainedValue() }

  func adopt(_ call: Call) {
    setCall(call)
    let queue = queue
    unsafe owesEnd = queue.isTracked || mutant(.retryLosesItsPlace)
    if let key = unsafe call.key { unsafe key._withUnsafeGuaranteedRef { $0.worker.set(self) } }
    queue.noteAdopted(call)
  }

  /// The call continues elsewhere, so the worker gets a new object.
  func leaveCall() {
    let next = Call()
    next.reserve(for: queue)
    setCall(next)
    unsafe owesEnd = false
  }

  @inline(__always) func end(_ after: inout HandlerLane.After) {
    unsafe owesEnd = false
    withCall { call in
      if unsafe !call.barriers.isEmpty {
        after.add { unsafe $0.passed += call.barriers.map { ($0, call) } }
        unsafe call.barriers = []
      }
      unsafe call.queue.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.noteEnd(of: call, on: self, &after) }
    }
  }

  func beginsWithCall() -> Bool {
    defer { unsafe hasCall = false }
    return unsafe hasCall
  }
}
