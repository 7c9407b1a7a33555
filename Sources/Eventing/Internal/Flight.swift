import Synchronization

/// What travels with an occurrence beside its payload: what it has to say for itself, and who waits for it.
///
/// Made only where needed: for a `send` that meets a lane or a busy event, for a `submit`, and for what is queued with a sender or forwarded.
// Safe: what changes is guarded by `withLock`.
@usableFromInline final class Flight: @unchecked Sendable {
  @usableFromInline enum Purpose: Sendable {
    /// Nobody waits.
    case post
    /// A `send`, whose task runs the `.task` handlers as its children.
    case send
    /// A ticket, or `quiesce`.
    case ticket
  }

  @usableFromInline let purpose: Purpose
  /// Whether a cycle of waits could go through it. If not, it stays out of the graph and has its own lock.
  private let isTracked: Bool
  private let ownLock = Lock()

  /// The task-local values of the sender, if any are carried.
  @usableFromInline let context = CarriedContext.current()
  /// The task that sends, if it waits; 0 for none.
  let task: Int

  /// Of the task that is running.
  static var currentTask: Int { unsafe withUnsafeCurrentTask { unsafe $0?.hashValue ?? 0 } }

  @usableFromInline weak let sender: (any AnyObject & Sendable)?
  /// The events that the occurrence came through, if it was forwarded.
  @usableFromInline let path: Path?
  /// The flight that waits for what was forwarded, and does not count it.
  private let root: Flight?

  // Under the lock.
  /// The parts that are still out: one for the event itself, until it has delivered, and one for every lane item.
  private var open = 1
  private var isDelivered = false
  private var report = SendReport()
  private var parts: [ObjectIdentifier: Part] = [:]
  private var sleepers: [Sleeper] = []
  private var nextSleeper = 0
  private var children: [Child] = []

  /// Somebody who waits. `excused`: what it does not wait for, because that waits for it.
  ///
  /// The continuation carries nothing: what there is to know is read under the lock afterwards. (The thread sanitizer does not see that a resumption orders
  /// what it carries.)
  @safe private struct Sleeper {
    let id: Int
    let running: Running?
    var excused: Set<ObjectIdentifier> = []
    var continuation: UnsafeContinuation<Void, Never>?
  }
  private struct Part {
    let node: WaitNode
    /// False for what is in no report, or has been counted: of an event that this was forwarded to, of a sequence.
    let isCounted: Bool
    var count = 0
  }
  private enum Wake: Sendable {
    case finished(SendReport)
    case children([Child])
  }
  private struct Child {
    let priority: TaskPriority?
    let body: @Sendable () async -> Void
  }

  @usableFromInline init(_ purpose: Purpose, from sender: (any AnyObject & Sendable)? = nil) {
    self.purpose = purpose
    self.sender = sender
    path = nil
    root = nil
    task = purpose == .send ? Flight.currentTask : 0
    let running = purpose == .post ? nil : Context.running.get().flatMap { $0.isCurrent ? $0 : nil }
    isTracked = purpose == .ticket || (purpose == .send && running != nil)
    // A send waits from the start, before a lane has anything of it: so the last in a cycle is the one that closes it, and is deferred.
    if purpose == .send { _ = enrol(running) }
  }

  /// For what is forwarded along a path; `waiting`, if somebody waits, is then told of all that it meets.
  @usableFromInline init(along path: Path, from sender: (any AnyObject & Sendable)?, waiting: Flight?) {
    purpose = waiting?.purpose ?? .post
    self.sender = sender
    self.path = path
    root = waiting?.root ?? waiting
    task = waiting?.task ?? 0
    isTracked = false
    if let root { root.withLock { root.open += 1 } }
  }

  @inlinable var isAwaited: Bool { purpose != .post }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    isTracked ? WaitGraph.lock.withLock(body) : ownLock.withLock(body)
  }

  // MARK: For the event and its lanes

  /// One more part is out: something on this lane or seat.
  @usableFromInline func expect(_ node: WaitNode) {
    if root == nil { expect(node, isCounted: true) } else { expectUncounted(node) }
  }

  /// The same for what is not to be counted as deferred.
  func expectUncounted(_ node: WaitNode) { (root ?? self).expect(node, isCounted: false) }

  private func expect(_ node: WaitNode, isCounted: Bool) {
    withLock {
      open += 1
      guard isTracked else { return }
      parts[ObjectIdentifier(node), default: Part(node: node, isCounted: isCounted)].count += 1
      for i in sleepers.indices { judge(node, &sleepers[i]) }
    }
  }

  /// A part that waited on a lane has got a seat: from now on it waits for what that seat waits for, even if others are free.
  @usableFromInline func seatPart(of lane: WaitNode, on seat: Seat) {
    if let root { return root.seatPart(of: lane, on: seat) }
    guard isTracked else { return }
    withLock {
      for i in sleepers.indices where sleepers[i].excused.contains(ObjectIdentifier(lane)) {
        sleepers[i].excused.insert(ObjectIdentifier(seat))
      }
      let isCounted = parts[ObjectIdentifier(lane)]?.isCounted ?? true
      remove(lane)
      parts[ObjectIdentifier(seat), default: Part(node: seat, isCounted: isCounted)].count += 1
    }
  }

  /// A part is done; `outcome` is nil for what counts in no report.
  @usableFromInline func arrive(_ node: WaitNode, _ outcome: Outcome?) {
    if let root { return root.arrive(node, nil) }
    unsafe wake(
      withLock {
        open -= 1
        if let outcome { report.count(outcome) }
        remove(node)
        return unsafe readySleepers()
      })
  }

  /// The event has given the occurrence to all that it found; `part` is what it decided itself.
  @usableFromInline func finishDelivery(_ part: SendReport) {
    if let root { return root.finishForward() }
    unsafe wake(
      withLock {
        open -= 1
        isDelivered = true
        report.add(part)
        return unsafe readySleepers()
      })
  }

  private func finishForward() {
    unsafe wake(
      withLock {
        open -= 1
        return unsafe readySleepers()
      })
  }

  /// A `.task` handler of a `send`: the sender runs it as its child.
  @usableFromInline func adopt(priority: UInt8?, _ body: @escaping @Sendable () async -> Void) {
    if let root { return root.adopt(priority: priority, body) }
    withLock { children.append(Child(priority: priority.map(Scheduling.priority), body: body)) }
  }

  // MARK: For those who wait

  /// Returns when every part is done that does not wait for this very caller.
  @usableFromInline func wait() async -> SendReport {
    let running = Context.running.get().flatMap { $0.isCurrent ? $0 : nil }
    let id = purpose == .send ? 1 : enrol(running)
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
    leave(id, running)
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

  private func enrol(_ running: Running?) -> Int {
    withLock {
      nextSleeper += 1
      var sleeper = unsafe Sleeper(id: nextSleeper, running: isTracked ? running : nil)
      for part in parts.values { judge(part.node, &sleeper) }
      sleepers.append(sleeper)
      if isTracked, let running { running.seat.waits.append((running, self, nextSleeper)) }
      return nextSleeper
    }
  }

  private func leave(_ id: Int, _ running: Running?) {
    withLock {
      sleepers.removeAll { $0.id == id }
      if isTracked { running?.seat.waits.removeAll { $0.flight === self && $0.sleeper == id } }
    }
  }

  // MARK: Under the lock

  private func remove(_ node: WaitNode) {
    guard isTracked, var part = parts[ObjectIdentifier(node)] else { return }
    part.count -= 1
    parts[ObjectIdentifier(node)] = part.count > 0 ? part : nil
    guard part.count == 0 else { return }
    for i in sleepers.indices { sleepers[i].excused.remove(ObjectIdentifier(node)) }  // its address may come back
  }

  private func judge(_ node: WaitNode, _ sleeper: inout Sleeper) {
    guard let running = sleeper.running, running.isCurrent, !sleeper.excused.contains(ObjectIdentifier(node)) else { return }
    var question = WaitGraph.Question(running)
    if question.isBlocked(node) { sleeper.excused.insert(ObjectIdentifier(node)) }
  }

  /// Whether one of those who wait here is held up by something blocked.
  func isBlocked(for sleeper: Int, _ question: inout WaitGraph.Question) -> Bool {
    guard let sleeper = sleepers.first(where: { $0.id == sleeper }) else { return false }
    for (id, part) in parts where !sleeper.excused.contains(id) {
      if question.isBlocked(part.node) { return true }
    }
    return false
  }

  private func sleeper(_ id: Int) -> Int {
    guard let i = sleepers.firstIndex(where: { $0.id == id }) else { preconditionFailure("who waits is enrolled") }
    return i
  }

  /// How many parts are out that this one does not wait for.
  private func excused(_ sleeper: Int) -> Int { sleepers[sleeper].excused.reduce(0) { $0 + (parts[$1]?.count ?? 0) } }
  /// The same of this event's own handlers.
  private func deferred(_ sleeper: Int) -> Int {
    sleepers[sleeper].excused.reduce(0) { count, id in count + (parts[id].map { $0.isCounted ? $0.count : 0 } ?? 0) }
  }

  private func isReady(_ sleeper: Int) -> Bool { isDelivered && (!children.isEmpty || open == excused(sleeper)) }

  private func readiness(of sleeper: Int) -> Wake? {
    guard isReady(sleeper) else { return nil }
    if !children.isEmpty {
      defer { children = [] }
      return .children(children)
    }
    var report = report
    report.deferred += deferred(sleeper)
    report.sortFailures()
    return .finished(report)
  }

  private func readySleepers() -> [UnsafeContinuation<Void, Never>] {
    var ready: [UnsafeContinuation<Void, Never>] = unsafe []
    for i in sleepers.indices where isReady(i) {
      guard let continuation = unsafe sleepers[i].continuation else { continue }
      unsafe sleepers[i].continuation = nil
      unsafe ready.append(continuation)
    }
    return unsafe ready
  }

  private func wake(_ sleepers: [UnsafeContinuation<Void, Never>]) {
    unsafe sleepers.forEach { unsafe $0.resume() }
  }
}
