import Synchronization

// The attempts of a call: retries, time limits and restarts.

struct Attempt: Sendable {
  typealias Observed = (occurrence: ObservedOccurrence, call: WatchedCall)

  /// `nil` if the claim was refused.
  let end: Result<Outcome, any Error>?
  var observed: [Observed] = []
}

enum NextStep: Sendable {
  case ended(Outcome)
  case delayed(Duration)
  case held
}

extension LaneQueue {
  func run(
    _ worker: Worker, after error: (any Error)? = nil, on place: isolated (any Actor)?
  ) async -> NextStep {
    if let error, let step = step(after: Attempt(end: .failure(error)), on: worker) { return step }
    while true {
      let call = worker.call
      if isReplaced(call) { return .ended(.dropped) }
      let isInTask = limitQueue != nil || modifiers.isRestarting
      let result = isInTask ? await attemptInTask(call, on: place) : await attempt(call, on: place)
      if let step = step(after: result, on: worker) { return step }
    }
  }

  @inline(__always) func runInEntrance(_ worker: Worker, on place: isolated (any Actor)?) async -> NextStep {
    guard isPipeline else { return await run(worker, on: place) }
    return await Entrance.ofCall.withValue(Entrance(self, of: unsafe worker.call.number)) {
      _ = place
      return await run(worker, on: place)
    }
  }

  @inline(never) func runNow(_ worker: Worker, after error: (any Error)? = nil) -> NextStep {
    if let error, let step = step(after: Attempt(end: .failure(error)), on: worker) { return step }
    while true {
      let call = worker.call
      let cell = newCell(for: call)
      let result = bound(call, cell) { callHandler(call, cell) }
      if let step = step(after: result, on: worker) { return step }
    }
  }

  // MARK: One attempt

  /// `nil` if the claim is refused.
  private func beginAttempt(_ call: Call, _ cell: CallCell?)
    -> (body: HandlerBody, owner: (any AnyObject & Sendable)?, observed: [Attempt.Observed])?
  {
    guard let body = unsafe body else { return nil }
    let box = record.options.owner
    // The handler behind the batches retains the owner for its own calls.
    let owner = isPassage ? nil : box?.object
    // Unregistered immediately, because the next delivery may be on a thread that must not look at
    // the owner.
    if let box, isPassage ? !box.isAlive : owner == nil { _ = anchor.remove(record) }
    if unsafe call.attempts == 0 {
      guard record.claim() else { return nil }
      countBegin(of: call)
    } else {
      // There is no second claim, because the first attempt has already used up a once handler.
      let isGivenUp = call.isGivenUp
      if let shared = record.options.sharedClaim, shared.isRemoved { shared.end(record) }
      guard !isGivenUp, !record.has(HandlerFlags.removed | HandlerFlags.lockedAtAll) else { return nil }
      // An attempt that was pending when the event ended is the last one.
      if lane.mutex.withLock({ unsafe endsDelays }) { unsafe call.rare.isLastAttempt = true }
    }
    unsafe call.attempts += 1
    if let batch = modifiers.batch { call.makeBatch(batch) }
    if retryQueue != nil { attempt.store(unsafe call.attempts, ordering: .relaxed) }
    let observed = began(call, cell)
    if unsafe call.attempts == 1 { unregisterIfSpent() }
    return (body, owner, observed)
  }

  /// Binds what the occurrence carries and, if observers trace it, the cell of the call.
  private func bound<Value>(_ call: Call, _ cell: CallCell?, _ body: () -> Value) -> Value {
    func inCell() -> Value {
      guard let cell else { return body() }
      return CallCell.$current.withValue(cell) { body() }
    }
    guard modifiers.batch == nil, let context = unsafe call.completion?.context else { return inCell() }
    return context.run { inCell() }
  }

  @inline(never) private func callHandler(_ call: Call, _ cell: CallCell?) -> Attempt {
    guard let (body, owner, observed) = beginAttempt(call, cell) else { return Attempt(end: nil) }
    do {
      switch body {
      case .direct(let body): try withExtendedLifetime(owner) { try body(call.payload) }
      case .sync(let body): try body(HandlerArguments(call.payload, owner))
      default: preconditionFailure("a queue runs synchronous handlers only")
      }
      return Attempt(end: .success(.delivered), observed: observed)
    } catch {
      return Attempt(end: .failure(error), observed: observed)
    }
  }

  private func attempt(_ call: Call, on place: isolated (any Actor)?) async -> Attempt {
    guard case .isolated? = unsafe body else { return await attemptInContext(call, on: place) }
    // The lane retains the owner only for the duration of an attempt.
    if let actor = record.options.owner?.actor { return await attemptInContext(call, on: actor) }
    _ = anchor.remove(record)
    return Attempt(end: nil)
  }

  @inline(never) private func attemptInContext(_ call: Call, on place: isolated (any Actor)?) async -> Attempt {
    guard modifiers.batch == nil, let context = unsafe call.completion?.context else {
      return await attemptInCell(call, on: place)
    }
    return await context.run(on: place) {
      _ = place
      return await attemptInCell(call, on: place)
    }
  }

  private func attemptInCell(_ call: Call, on place: isolated (any Actor)?) async -> Attempt {
    guard let cell = newCell(for: call) else { return await callHandler(call, nil, on: place) }
    return await CallCell.$current.withValue(cell) {
      _ = place
      return await callHandler(call, cell, on: place)
    }
  }

  /// There is no suspension point between the claim and the closure's first line, so a handler
  /// removed on its own actor isn't called afterwards.
  @inline(never) private func callHandler(_ call: Call, _ cell: CallCell?, on place: isolated (any Actor)?) async
    -> Attempt
  {
    guard let (body, owner, observed) = beginAttempt(call, cell) else { return Attempt(end: nil) }
    defer { withExtendedLifetime(owner) {} }
    do {
      switch body {
      case .directAsync(let body): try await body(call.payload, on: place)
      case .async(let body): try await body(HandlerArguments(call.payload, owner))
      case .isolated(let body):
        guard let place else { preconditionFailure("the owner is the actor") }
        try await body(place, HandlerArguments(call.payload, owner))
      case .passing(let body):
        let outcome = await body(call.payload, call.completions, unsafe call.count)
        guard case .failed(let failure) = outcome else {
          return Attempt(end: .success(outcome), observed: observed)
        }
        unsafe call.attempts = failure.attempts
        throw failure.error
      default: preconditionFailure("a task runs asynchronous handlers only")
      }
      return Attempt(end: .success(.delivered), observed: observed)
    } catch {
      return Attempt(end: .failure(error), observed: observed)
    }
  }

  @inline(never) private func attemptInTask(_ call: Call, on place: isolated (any Actor)?) async -> Attempt {
    let attempt = AttemptTask()
    unsafe call.isRare = true
    let isReplaced = lane.mutex.withLock { () -> Bool in
      unsafe call.rare.attempt = attempt
      return unsafe call.isReplaced
    }
    if isReplaced { attempt.cancel() }
    let timer = limitQueue.map { queue in
      Delay(queue) {
        attempt.isLate.publish(true)
        Scheduling.concurrentBlock { attempt.cancel() }  // the user's cancellation handlers must not delay the timer
      }
    }
    if let timer, let limit = modifiers.timeLimit { timer.start(after: limit.duration) }
    let task = Scheduling.innerTask(on: lane.taskExecutor) { await self.attempt(call, on: place) }
    attempt.set(task)
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      attempt.cancel()
    }
    timer?.cancel()
    lane.mutex.withLock { unsafe call.rare.attempt = nil }
    guard result.end != nil, attempt.isLate.load(ordering: .acquiring), let limit = modifiers.timeLimit else {
      return result
    }
    return Attempt(end: .failure(limit.error), observed: result.observed)
  }

  private func isReplaced(_ call: Call) -> Bool {
    modifiers.isRestarting && lane.mutex.withLock { unsafe call.isReplaced }
  }

  // MARK: Observers

  @inline(never) private func newCell(for call: Call) -> CallCell? {
    if modifiers.batch == nil { return unsafe call.completion?.observed?.cell == nil ? nil : CallCell() }
    return call.completions.contains { unsafe $0.observed?.cell != nil } ? CallCell() : nil
  }

  @inline(never) private func began(_ call: Call, _ cell: CallCell?) -> [Attempt.Observed] {
    if modifiers.batch == nil, unsafe call.completion?.observed == nil { return [] }
    var all: [Attempt.Observed] = []
    for completion in call.completions {
      guard var observed = unsafe completion.observed else { continue }
      if let cell, observed.cell != nil { observed.cell = cell }
      let begun = observed.began(
        HandlerToken(record, anchor), on: self, attempt: unsafe call.attempts, isFurther: !all.isEmpty)
      all.append((observed, begun))
    }
    return all
  }

  /// Called once the outcome is decided rather than where the handler returns, because a time limit
  /// or a newer occurrence may still change it, and observers, reports and counts must agree.
  private func tellEnd(of attempt: Attempt, of call: Call, isReplaced: Bool) {
    var end = WatchedCall.End.returned
    if case .failure(let error)? = attempt.end { end = .threw(error) }
    if isReplaced {
      unsafe (call.isRare, call.rare.isDropReported) = (true, true)
      end = .dropped
    }
    for observed in attempt.observed.reversed() { observed.occurrence.ended(observed.call, end) }
  }

  // MARK: After an attempt

  private func step(after attempt: Attempt, on worker: Worker) -> NextStep? {
    let call = worker.call
    let isReplaced = isReplaced(call)
    if !attempt.observed.isEmpty { tellEnd(of: attempt, of: call, isReplaced: isReplaced) }
    if isReplaced { return .ended(.dropped) }
    switch attempt.end {
    case .success(let outcome)?: return .ended(outcome)
    case nil:
      switch refused(worker) {
      case .retry: return nil
      case .pause: return .held
      case .skip: return .ended(lastOutcome(call))
      }
    case .failure(let error)?:
      guard let retry = modifiers.retry, unsafe !(call.isRare && call.rare.isLastAttempt),
        !call.isGivenUp, retry.tries(error, after: unsafe call.attempts)
      else { return .ended(failure(error, call, in: attempt.observed.last?.occurrence.cell)) }
      unsafe call.isRare = true
      unsafe call.rare.lastError = error
      unsafe call.rare.isLastAttempt = lane.mutex.withLock { unsafe endsDelays }
      let delay = unsafe call.rare.isLastAttempt ? .zero : retry.policy.delay(after: call.attempts)
      return delay > .zero ? .delayed(delay) : nil
    }
  }

  func lastOutcome(_ call: Call) -> Outcome {
    guard unsafe call.isRare, let error = unsafe call.rare.lastError else { return .skipped }
    return failure(error, call, in: nil)
  }

  func givenUp(_ worker: Worker) -> NextStep { .ended(lastOutcome(worker.call)) }

  private func failure(_ error: any Error, _ call: Call, in cell: CallCell?) -> Outcome {
    bound(call, cell) {
      unsafe failure(error, call.payload, attempts: max(1, call.attempts), calls: call.count)
    }
  }

  @inline(never) func failure(
    _ error: any Error, _ payload: BorrowedPayload, attempts: Int = 1, calls: Int = 1
  ) -> Outcome {
    let failure = HandlerFailure(HandlerToken(record, anchor), error, record.options, attempts: attempts)
    // The result says whether the failure policy stops the occurrence. It's ignored, because a call
    // on a lane doesn't hold up the delivery to later handlers.
    _ = anchor.failures().note(failure, calls: calls)
    guard let letters = anchor.deadLetters else { return .failed(failure) }
    let letter = record.options.letter
    if let batch = modifiers.batch {
      batch.forEach(payload) { letters.post($0, letter, failure) }
    } else {
      letters.post(payload, letter, failure)
    }
    return .failed(failure)
  }

  // MARK: Delays

  /// The key stays active during the delay. Returns whether the worker is free for other calls.
  func delay(_ worker: Worker, _ delay: Duration) -> Bool {
    let call = worker.call
    let isKept = lane.keepsWorkerInDelay && !mutant(.retryLosesItsPlace)
    _ = beginDelay(of: call, delay, isKept ? worker : nil) {
      if isKept {
        unsafe call.rare.keptWorker = worker
      } else {
        unsafe call.key?._withUnsafeGuaranteedRef { $0.worker.clear() }
        unsafe away.append(call)
        if !isTracked { unsafe running += 1 }  // only if a test has planted a fault
        worker.leaveCall()
      }
    } then: {
      self.delayEnded(call)
    }
    return !isKept
  }

  /// `change` is called under the mutex.
  private func beginDelay(
    of call: Call, _ delay: Duration, _ worker: Worker?, _ change: () -> Void = {},
    then action: @escaping @Sendable () -> Void
  ) -> Delay {
    guard let queue = retryQueue, let delays = record.delays else {
      preconditionFailure("only a retried call is delayed")
    }
    let nodes: [WaitNode?] = unsafe [worker ?? call, call.key?.takeUnretainedValue()]
    let timer = Delay(queue, delaying: nodes.compactMap { $0 }, action)
    lane.mutex.withLock {
      unsafe (call.rare.timer, call.isDelayed) = (timer, true)
      change()
    }
    delays.insert(timer)
    timer.start(after: delay)
    let mustEnd = lane.mutex.withLock { unsafe call.isReplaced || endsDelays }
    let flags = record.state.load(ordering: .acquiring)
    let isLocked = flags & HandlerFlags.lockedAtAll != 0
    if mustEnd || isLocked || flags & HandlerFlags.removed != 0 {
      // A thread that locks the handler ends the delays that it finds in `delays`. If this one was
      // added later, the thread that added it must end it here. The flag prevents another attempt
      // even if the lock has ended by then.
      if isLocked, flags & HandlerFlags.isHolding == 0 { timer.isGivenUp.publish(true) }
      timer.fireNow()
    }
    return timer
  }

  private func delayEnded(_ call: Call) {
    let (timer, worker) = lane.mutex.withLock { () -> (Delay?, Worker?) in
      let timer = unsafe call.rare.timer
      unsafe call.isDelayed = false
      // After a removal or the end of the event, at most one attempt follows.
      if unsafe endsDelays { unsafe call.rare.isLastAttempt = true }
      if let worker = unsafe call.rare.keptWorker.take() {
        unsafe worker.hasCall = true
        return (timer, worker)
      }
      lane.addUrgent(call)
      return (timer, nil)
    }
    if let timer { record.delays?.remove(timer) }
    if let worker { lane.start(worker) } else { lane.wake() }
  }

  func sleep(_ worker: Worker, for delay: Duration) async -> Bool {
    let (call, sleeper) = (worker.call, Sleeper())
    let timer = beginDelay(of: call, delay, worker) { sleeper.wake(isPosting: true) }
    await withTaskCancellationHandler {
      await sleeper.sleep()
    } onCancel: {
      timer.fireNow()
    }
    record.delays?.remove(timer)
    lane.mutex.withLock {
      unsafe call.isDelayed = false
      if unsafe endsDelays { unsafe call.rare.isLastAttempt = true }
    }
    return !Task.isCancelled
  }

  // MARK: The outcome

  func follow(_ step: NextStep, _ worker: Worker) -> Bool {
    switch step {
    case .ended(let outcome): conclude(worker.call, outcome)
    case .delayed(let delay): return self.delay(worker, delay)
    case .held: break
    }
    return true
  }

  func conclude(_ call: Call, _ outcome: Outcome) {
    let (node, completions, count) = unsafe (call.node, call.completions, call.count)
    let isDropReported = unsafe call.isRare && call.rare.isDropReported
    // The handler behind the batches has already counted the call and reported it to the transport.
    let isPassed = unsafe isPassage && call.attempts > 0
    if unsafe call.attempts > 0 { countEnd(count) }
    // A push reads the current call's timer under the mutex.
    if modifiers.isRestarting { lane.mutex.withLock { if unsafe current === call { unsafe current = nil } } }
    call.clear()
    switch outcome {
    case .skipped where !isPassed:
      skipped.wrappingAdd(count - completions.count, ordering: .relaxed)
      for completion in completions { countSkipped(completion) }
    case .dropped where !isPassed:
      dropped.wrappingAdd(count - completions.count, ordering: .relaxed)
      for completion in completions {
        countDropped(completion, isReplaced: keepsOnlyTheNewest, isReported: isDropReported)
      }
    case .skipped, .dropped, .delivered, .held, .failed: break
    }
    for completion in completions where completion.isAwaited {
      completion.arrive(node, outcome, isAfterCall: outcome.isOfCall)
    }
  }
}

// The first attempt of a handler with a `direct` closure, which the drain makes itself.
extension LaneQueue {
  /// Avoids ``run(_:on:)``, whose asynchronous functions each allocate a frame.
  @inline(__always) func beginFirstAttempt(_ worker: Worker) -> BorrowedPayload? {
    let isUnbound = worker.withCall { call in
      unsafe call.attempts == 0 && !(call.completion?.isBound ?? false)
        && (modifiers.batch == nil || !call.completions.contains { $0.isBound })
    }
    guard isUnbound, record.claim() else { return nil }
    let payload = worker.withCall { call in
      countBegin(of: call)
      unsafe call.attempts = 1
      if retryQueue != nil { attempt.store(1, ordering: .relaxed) }
      if let batch = modifiers.batch { call.makeBatch(batch) }
      return call.payload
    }
    unregisterIfSpent()
    return payload
  }

  @inline(__always) func countBegin(of call: Call) {
    if dequeuesAll { countCallAlone() } else { calls.wrappingAdd(unsafe call.count, ordering: .releasing) }
  }

  @inline(__always) func concludeFirstAttempt(_ worker: Worker) {
    let isAlone = worker.withCall { call -> Bool in
      guard unsafe call.completion == nil, unsafe !call.isRare else { return false }
      countEnd()
      call.clearPayload()
      return true
    }
    if !isAlone { conclude(worker.call, .delivered) }
  }
}

final class AttemptTask: Sendable {
  private let state = Guarded<(task: Task<Attempt, Never>?, isCancelled: Bool)>((nil, false))
  let isLate = Atomic<Bool>(false)

  func set(_ task: Task<Attempt, Never>) {
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  func cancel() {
    let task = state.withLock { state in
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }
}
