import Eventing

/// A participant of a race (``ScenarioContext/race(steps:_:inTask:)``): a task of the pool or a
/// separate thread. Each worker has its own random numbers and counts.
// Safe: accessed by its own task or thread during a race, and by the context between races.
final class Worker: @unchecked Sendable {
  let index: Int
  let isTask: Bool
  let activityLog: ActivityLog
  var random: Random
  /// The random numbers that decide when a fault is injected into the worker. They are separate
  /// from `random`, so that faults do not change the worker's operations.
  var luck = Random(seed: 0)
  let faults: Faults

  // The records of the current round.
  var senderLog: SenderLog
  var handlerLogs: [HandlerLog] = []
  /// The spans of operations that change something: add, remove, lock, release.
  var changes: [Span] = []
  /// The spans of recorded operations that are in neither `senderLog` nor `changes`, such as posts
  /// of another payload type.
  var actions: [Span] = []

  // The figures of all rounds.
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

  /// Prepares the worker for a round.
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

  /// Performs an operation that changes something, and records its span in `changes`.
  @discardableResult func change<Result>(_ activity: Activity, _ body: () -> Result) -> (result: Result, span: Span) {
    begin(activity)
    var span = Span.open
    let result = body()
    span.finish()
    activityLog.end()
    changes.append(span)
    return (result, span)
  }

  /// Performs an operation that sends no ``StressPayload``, and records its span in `actions`.
  func action(_ activity: Activity, _ body: () -> Void) {
    begin(activity)
    var span = Span.open
    body()
    span.finish()
    activityLog.end()
    posting.add(span)
    actions.append(span)
  }

  /// Posts the next payload.
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

  /// Sends the next payload and awaits its report. Only workers in tasks call this.
  func send(to event: Event<StressPayload>) async {
    begin(.send)
    let payload = senderLog.next()
    let report = await awaiting { await event.send(payload) }
    sending.add(senderLog.returned(payload))
    senderLog.keep(report, of: payload)
    activityLog.end()
  }

  /// Awaits an isolated call, which returns the handlers.
  @discardableResult func look(at event: Event<StressPayload>) async -> [HandlerSnapshot] {
    begin(.look)
    var span = Span.open
    let handlers = await awaiting { await event.handlers() }
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
}
