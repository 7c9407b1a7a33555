import Eventing

/// One of those who race: a task of the pool or a thread of its own, with its own random numbers and its own count of what it did.
// Safe: touched by its own task or thread, and by the context between races.
final class Worker: @unchecked Sendable {
  let index: Int
  let isTask: Bool
  let activityLog: ActivityLog
  var random: Random
  /// Says when it meets a fault: apart from what it does, so that this is the same with any faults.
  private(set) var luck = Random(seed: 0)
  private let faults: Faults

  // Of this round.
  var senderLog: SenderLog
  var handlerLogs: [HandlerLog] = []
  /// When it changed something: added, removed, locked, let go.
  var changes: [Span] = []
  /// When it did something else, beside what its senderLog sent.
  var actions: [Span] = []

  // Of all rounds.
  var counts = [Int](repeating: 0, count: Activity.allCases.count)
  var posting = Histogram()
  var sending = Histogram()
  var looking = Histogram()

  init(_ index: Int, isTask: Bool, scenario: String, _ faults: Faults) {
    self.index = index
    self.isTask = isTask
    self.faults = faults
    activityLog = ActivityLog("\(scenario) \(isTask ? "task" : "thread") \(index)")
    random = Random(seed: 0)
    senderLog = SenderLog(index)
  }

  /// Made ready for a round.
  func reset(_ random: Random) {
    self.random = random
    var copy = random
    luck = Random(seed: ~copy.next())
    senderLog = SenderLog(index)
    handlerLogs = []
    changes = []
    actions = []
  }

  func begin(_ activity: Activity) {
    counts[Int(activity.rawValue)] += 1
    activityLog.begin(activity)
  }

  /// Does something that is a change, and says when.
  @discardableResult func change<Result>(_ activity: Activity, _ body: () -> Result) -> (result: Result, span: Span) {
    begin(activity)
    var span = Span.open
    let result = body()
    span.finish()
    activityLog.end()
    changes.append(span)
    return (result, span)
  }

  /// Posts something that is not a payload.
  func action(_ activity: Activity, _ body: () -> Void) {
    begin(activity)
    var span = Span.open
    body()
    span.finish()
    activityLog.end()
    posting.add(span)
    actions.append(span)
  }

  /// Sends without waiting.
  func post(to event: Event<StressPayload>) {
    begin(.post)
    let payload = senderLog.next()
    event.post(payload)
    posting.add(senderLog.returned(payload))
    activityLog.end()
  }

  func submit(to event: Event<StressPayload>) {
    begin(.submit)
    let payload = senderLog.next()
    let ticket = event.submit(payload)
    posting.add(senderLog.returned(payload))
    keep(ticket, of: payload)
    activityLog.end()
  }

  /// Sends and waits: in a task only.
  func send(to event: Event<StressPayload>) async {
    begin(.send)
    let payload = senderLog.next()
    let report = await awaiting { await event.send(payload) }
    sending.add(senderLog.returned(payload))
    senderLog.keep(report, of: payload)
    activityLog.end()
  }

  /// Awaits an isolated method.
  @discardableResult func look(at event: Event<StressPayload>) async -> [HandlerSnapshot] {
    begin(.look)
    var span = Span.open
    let handlers = await awaiting { await event.handlers }
    span.finish()
    looking.add(span)
    activityLog.end()
    return handlers
  }

  func quiesce(_ event: Event<StressPayload>) async {
    begin(.quiesce)
    await awaiting { await event.quiesce() }
    activityLog.end()
  }

  // MARK: Faults

  /// A random number for a handler of the worker's: see ``HandlerLog/fate``.
  func makeFate() -> UInt64 { luck.next() }

  /// Between two operations of a thread.
  func rest() {
    guard faults.strikes(.preempt, &luck) else { return }
    if luck.oneIn(8) { RawThread.nap() } else { RawThread.giveWay() }
  }

  /// Between two operations of a task.
  func restInTask() async { if faults.strikes(.preempt, &luck) { await Task.yield() } }

  /// Lets others have the core, as the scenario wants it.
  func giveWayInTask() async {
    faults.count(.preempt)
    await Task.yield()
  }

  /// It lets go of the last reference to something, as the scenario wants it.
  func lost() { faults.count(.drop) }

  /// Keeps a ticket whose report is to be judged, or lets go of it at once.
  func keep(_ ticket: Ticket, of payload: StressPayload) {
    if !faults.strikes(.drop, &luck) { senderLog.keep(ticket, of: payload) }
  }

  /// Awaits something, perhaps in a task that is cancelled before it is done: that must make no difference.
  func awaiting<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
    guard faults.strikes(.cancel, &luck) else { return await body() }
    let task = Task { await body() }
    for _ in 0..<luck.below(4) { await Task.yield() }
    task.cancel()
    return await task.value
  }
}
