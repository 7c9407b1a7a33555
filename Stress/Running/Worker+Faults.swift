import Eventing

// The faults that a worker injects between its operations: see ``Faults``.
extension Worker {
  /// Returns a seed for the faults of a handler that the worker adds. See ``HandlerLog/fate``.
  func makeFate() -> UInt64 { luck.next() }

  /// Between two operations of a thread, yields the processor or sleeps if a fault is due.
  func rest() {
    guard faults.strikes(.preempt, &luck) else { return }
    if luck.oneIn(8) { RawThread.nap() } else { RawThread.giveWay() }
  }

  /// Between two operations of a task, yields if a fault is due.
  func restInTask() async { if faults.strikes(.preempt, &luck) { await Task.yield() } }

  /// Yields, whether or not a fault is due, and counts the yield as a fault `preempt`.
  func giveWayInTask() async {
    faults.count(.preempt)
    await Task.yield()
  }

  /// Counts a fault `drop`. A scenario calls this method when its own code, not an injected fault,
  /// releases a reference to an event or another object.
  func lost() { faults.count(.drop) }

  /// Keeps a ticket, so that its report is verified. If a fault is due, drops the ticket instead.
  func keep(_ ticket: SendTicket, of payload: StressPayload) {
    if !faults.strikes(.drop, &luck) { senderLog.keep(ticket, of: payload) }
  }

  /// Awaits `body`. If a fault is due, awaits it in a task of its own and cancels that task early,
  /// which must not change the result.
  func awaiting<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
    guard faults.strikes(.cancel, &luck) else { return await body() }
    let task = Task { await body() }
    for _ in 0..<luck.below(4) { await Task.yield() }
    task.cancel()
    return await task.value
  }
}
