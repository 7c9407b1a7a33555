import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

// The blocks and tasks in which a lane's workers run.

extension HandlerLane {
  func drain(_ worker: Worker, isHere: Bool = false) {
    var quota = DrainQuota(isMain: isMain, spins: !isHere)
    var goesOn = worker.beginsWithCall() || search(worker, &quota)
    queues: while goesOn {
      // Retains the queue and its closure once for many calls.
      let queue = worker.queue
      if case .now(let direct)? = unsafe queue.direct {
        while let payload = queue.beginFirstAttempt(worker) {
          var isFree = true
          do {
            try direct(payload)
            queue.concludeFirstAttempt(worker)
          } catch {
            isFree = queue.follow(queue.runNow(worker, after: error), worker)
          }
          goesOn = isFree && next(worker, &quota)
          guard goesOn && worker.isBusy(with: queue) else { continue queues }
        }
      }
      goesOn = queue.follow(queue.runNow(worker), worker) && next(worker, &quota)
    }
  }

  func drain(_ worker: Worker, on place: isolated (any Actor)?) async {
    var quota = DrainQuota(isMain: isMain, spins: !isTaskForEachCall)
    guard worker.beginsWithCall() || search(worker, &quota) else { return }
    while await drainBound(worker, &quota, on: place) {}
  }

  /// Ends early if a call has left behind a task, because that task keeps the invocation.
  private func drainBound(_ worker: Worker, _ quota: inout DrainQuota, on place: isolated (any Actor)?) async -> Bool {
    let invocation = unsafe Unmanaged.passRetained(Invocation(worker))
    return await Context.invocation.withValue(unsafe invocation.takeRetainedValue()) {
      // A closure is isolated to the actor that it captures. Without this line, it would leave the
      // actor and come back to it between the claim and the call.
      _ = place
      let references = unsafe RuntimeSPI.references(to: invocation)
      var (goesOn, leftTask) = (true, false)
      queues: repeat {
        // Retains the queue and its closure once for many calls.
        let queue = worker.queue
        if case .async(let direct)? = unsafe queue.direct {
          while let payload = queue.beginFirstAttempt(worker) {
            var isFree = true
            do {
              try await direct(payload, on: place)
              leftTask = unsafe Invocation.endIfShared(invocation, since: references)
              queue.concludeFirstAttempt(worker)
            } catch {
              let step = await queue.run(worker, after: error, on: place)
              // Failure handlers may start tasks as well.
              leftTask = unsafe Invocation.endIfShared(invocation, since: references)
              isFree = queue.follow(step, worker)
            }
            goesOn = isFree && next(worker, &quota)
            guard goesOn && !leftTask && worker.isBusy(with: queue) else { continue queues }
          }
        }
        let step = await queue.runInEntrance(worker, on: place)
        leftTask = unsafe Invocation.endIfShared(invocation, since: references)
        goesOn = queue.follow(step, worker) && next(worker, &quota)
      } while goesOn && !leftTask
      unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
      return goesOn
    }
  }

  func drainChild(_ worker: Worker) async {
    unsafe worker.hasCall = false
    let queue = worker.queue
    var step = await runBound(worker)
    while case .delayed(let delay) = step {
      step = await queue.sleep(worker, for: delay) ? await runBound(worker) : queue.givenUp(worker)
    }
    var quota = DrainQuota(isMain: false, spins: false)
    if queue.follow(step, worker) { _ = next(worker, &quota) }
  }

  private func runBound(_ worker: Worker) async -> NextStep {
    let invocation = Invocation(worker)
    defer { invocation.end() }
    return await Context.invocation.withValue(invocation) { await worker.queue.run(worker, on: nil) }
  }
}

package struct DrainQuota {
  static var calls: Int { 256 }
  static var nanoseconds: UInt64 { 4_000_000 }

  var left = DrainQuota.calls
  let end: UInt64?

  let spins: Bool

  init(isMain: Bool, spins: Bool) {
    // In a simulation, nothing may depend on real time.
    end = isMain && !Scheduling.isSimulated ? DrainQuota.now + DrainQuota.nanoseconds : nil
    self.spins = spins
  }

  var hasBegun: Bool { left < DrainQuota.calls }

  var isOver: Bool { left == 0 || (end.map { hasBegun && DrainQuota.now >= $0 } ?? false) }

  #if os(Linux) || os(Android)
    /// On some virtual machines, reading the exact clock enters the kernel, but reading the coarse
    /// one doesn't.
    private static let clock: clockid_t = {
      var resolution = timespec()
      let isKnown = unsafe clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) == 0
      return isKnown && resolution.tv_sec == 0 && resolution.tv_nsec <= 4_000_000
        ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC
    }()

    private static func read(_ clock: clockid_t) -> UInt64 {
      var time = timespec()
      _ = unsafe clock_gettime(clock, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    static var now: UInt64 { read(clock) }

    package static var exactNow: UInt64 { read(CLOCK_MONOTONIC) }
  #else
    static var now: UInt64 { clock_gettime_nsec_np(CLOCK_UPTIME_RAW) }

    package static var exactNow: UInt64 { clock_gettime_nsec_np(CLOCK_UPTIME_RAW) }
  #endif
}

enum LaneExecutor: Sendable {
  case queue(DispatchQueue)
  case mainBlocks
  case mainTasks
  case tasks(UInt8?)
  /// If a `send` waits for the call, the call's task is a child task of the sender.
  case taskForEachCall(UInt8?)

  var isMain: Bool {
    switch self {
    case .mainBlocks, .mainTasks: true
    case .queue(let queue): Scheduling.isMainQueue(queue)
    case .tasks, .taskForEachCall: false
    }
  }
}

extension ExecutionPlace {
  func makeLane(isSynchronous: Bool) -> HandlerLane {
    switch self {
    case .main: HandlerLane(isSynchronous ? .mainBlocks : .mainTasks)
    case .background(let priority, _): HandlerLane(.queue(Scheduling.backgroundQueue(priority)))
    case .queue(let queue, _): HandlerLane(.queue(queue))
    case .inOrder(let priority, _): HandlerLane(.tasks(priority))
    case .actor: HandlerLane(.tasks(nil))
    case .concurrent(let limit, _): HandlerLane(.tasks(nil), limit: limit, freesWorkerInDelay: true)
    case .task(let priority): HandlerLane(.taskForEachCall(priority), limit: .max, freesWorkerInDelay: true)
    case .lane(let lane, _): lane
    case .inline, .sequence: preconditionFailure("\(self) has no lane")
    }
  }
}

// Safe: fields with a note say what guards them. While the worker isn't idle, its block or task
// owns the others. Callers of `adopt`, `leaveCall` and `end` hold the mutex.
@safe package final class Worker: ExecutionSlot, @unchecked Sendable {
  /// The worker owns the call. A strong reference would be retained on each use.
  @exclusivity(unchecked) private var ownCall: Unmanaged<Call>
  @exclusivity(unchecked) var hasCall = false
  @exclusivity(unchecked) var dequeuedAll = false
  @exclusivity(unchecked) var ready: Unmanaged<LaneQueue>?
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

  @inline(__always) func isBusy(with queue: LaneQueue) -> Bool {
    withCall { unsafe $0.queue?.toOpaque() == Unmanaged.passUnretained(queue).toOpaque() }
  }

  private func setCall(_ call: Call) {
    self.call.worker.clear()
    unsafe ownCall.release()
    unsafe ownCall = .passRetained(call)
    call.worker.set(self)
  }

  var queue: LaneQueue { unsafe call.queue.unsafelyUnwrapped.takeUnretainedValue() }

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
      call.passBarriers(&after)
      unsafe call.queue.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.noteEnd(of: call, on: self, &after) }
    }
  }

  func beginsWithCall() -> Bool {
    defer { unsafe hasCall = false }
    return unsafe hasCall
  }
}
