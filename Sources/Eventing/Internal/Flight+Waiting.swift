import Synchronization

// Those who wait for a flight. Each is judged by itself: what waits for it is not waited for.

extension Flight {
  /// Returns when every part is done that does not wait for this very caller.
  @usableFromInline func wait() async -> SendReport {
    let id = purpose == .send ? 1 : enrol(Running.current)
    var wake = await nextWake(id)
    if case .children = wake {
      // One group for all: an event that this is forwarded to may bring more children at any time, for which the first may wait.
      wake = await withDiscardingTaskGroup { group in
        while case .children(let children) = wake {
          for child in children { group.addTask(priority: child.priority) { await child.body() } }
          wake = await nextWake(id)
        }
        return wake
      }
    }
    guard case .finished(let report) = wake else { preconditionFailure("children are started in a group") }
    #if DEBUG
      if isTracked, let lane = withLock({ excusedLane(sleeper(id)) }), !lane.isReported.load(ordering: .relaxed) {
        CycleReport.tell(lane, waitingFor: withLock { excusedTitles(sleeper(id)) })
      }
    #endif
    leave(id)
    return report
  }

  private func nextWake(_ id: Int) async -> Wake {
    while true {
      if let wake = withLock({ readiness(of: sleeper(id)) }) { return wake }
      await sleep(id)
    }
  }

  private func sleep(_ id: Int) async {
    unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      let isEarly = withLock {
        let i = sleeper(id)
        if isReady(i) { return true }
        unsafe sleepers[i].continuation = unsafe continuation
        return false
      }
      if isEarly { unsafe continuation.resume() }
    }
  }

  func enrol(_ running: Running?) -> Int {
    withLock {
      nextSleeper += 1
      var sleeper = unsafe Sleeper(id: nextSleeper, running: isTracked ? running : nil)
      for part in parts.values { judge(part.node, &sleeper) }
      sleepers.append(sleeper)
      if isTracked, let running { running.seat.waits.append((running, self, nextSleeper)) }
      return nextSleeper
    }
  }

  /// The call that enrolled may be over by now: then it is in nobody's way any more, but still enrolled.
  private func leave(_ id: Int) {
    withLock {
      let left = sleepers.remove(at: sleeper(id))
      left.running?.seat.waits.removeAll { $0.flight === self && $0.sleeper == id }
    }
  }
}
