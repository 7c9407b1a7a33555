import Eventing

/// One of those who race: a task of the pool or a thread of its own, with its own random numbers and its own count of what it did.
// Safe: touched by its own task or thread, and by the stage between races.
final class Worker: @unchecked Sendable {
  let index: Int
  let isTask: Bool
  let note: Note
  var random: Random
  /// Says when it meets a fault: apart from what it does, so that this is the same with any faults.
  private(set) var luck = Random(seed: 0)
  private let faults: Faults

  // Of this round.
  var voice: Voice
  var probes: [Probe] = []
  /// When it changed something: added, removed, locked, let go.
  var changes: [Span] = []
  /// When it did something else, beside what its voice sent.
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
    note = Note("\(scenario) \(isTask ? "task" : "thread") \(index)")
    random = Random(seed: 0)
    voice = Voice(index)
  }

  /// Made ready for a round.
  func reset(_ random: Random) {
    self.random = random
    var copy = random
    luck = Random(seed: ~copy.next())
    voice = Voice(index)
    probes = []
    changes = []
    actions = []
  }

  func begin(_ activity: Activity) {
    counts[Int(activity.rawValue)] += 1
    note.begin(activity)
  }

  /// Does something that is a change, and says when.
  @discardableResult func change<Result>(_ activity: Activity, _ body: () -> Result) -> (result: Result, span: Span) {
    begin(activity)
    var span = Span.open
    let result = body()
    span.finish()
    note.end()
    changes.append(span)
    return (result, span)
  }

  /// Posts something that is not a parcel.
  func action(_ activity: Activity, _ body: () -> Void) {
    begin(activity)
    var span = Span.open
    body()
    span.finish()
    note.end()
    posting.add(span)
    actions.append(span)
  }

  /// Sends without waiting.
  func post(to event: Event<Parcel>) {
    begin(.post)
    let parcel = voice.next()
    event.post(parcel)
    posting.add(voice.returned(parcel))
    note.end()
  }

  func submit(to event: Event<Parcel>) {
    begin(.submit)
    let parcel = voice.next()
    let ticket = event.submit(parcel)
    posting.add(voice.returned(parcel))
    keep(ticket, of: parcel)
    note.end()
  }

  /// Sends and waits: in a task only.
  func send(to event: Event<Parcel>) async {
    begin(.send)
    let parcel = voice.next()
    let report = await awaiting { await event.send(parcel) }
    sending.add(voice.returned(parcel))
    voice.keep(report, of: parcel)
    note.end()
  }

  /// Awaits an isolated method.
  @discardableResult func look(at event: Event<Parcel>) async -> [HandlerSnapshot] {
    begin(.look)
    var span = Span.open
    let handlers = await awaiting { await event.handlers }
    span.finish()
    looking.add(span)
    note.end()
    return handlers
  }

  func quiesce(_ event: Event<Parcel>) async {
    begin(.quiesce)
    await awaiting { await event.quiesce() }
    note.end()
  }

  // MARK: Faults

  /// A random number for a handler of the worker's: see ``Probe/fate``.
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
  func keep(_ ticket: Ticket, of parcel: Parcel) {
    if !faults.strikes(.drop, &luck) { voice.keep(ticket, of: parcel) }
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
