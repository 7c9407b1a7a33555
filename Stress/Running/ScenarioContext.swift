import Eventing
import Foundation
import Synchronization

/// What a scenario is given: its workers, its time, its seed, and where it tells what it found.
// Safe: used by one scenario's task at a time; what workers share of it is safe by itself.
final class ScenarioContext: @unchecked Sendable {
  let options: Options
  let name: String
  let checks: Checks
  let faults: Faults
  let rounds = Counter()
  let director: ActivityLog
  private(set) var workers: [Worker] = []
  private(set) var memory = MemoryTrend()

  // What the table says.
  var must = 0
  var may = 0
  var did = 0
  var overlaps = 0
  /// The events of this round, which must be gone after it.
  private var events: [WeakLook] = []
  /// Isolated calls that no worker made.
  var looks = 0
  var lookLatency = Histogram()
  /// Further figures, for the lines under the table.
  var remarks: [String: Int] = [:]

  private(set) var seconds = 0.0
  /// For the plot, if there is to be one.
  private(set) var timeline: Timeline?
  private var luck = Random(seed: 0)

  init(_ name: String, _ options: Options) {
    self.name = name
    self.options = options
    director = ActivityLog("\(name) director")
    faults = Faults(options.faults)
    checks = Checks(round: rounds, faults)
    workers = (0..<options.tasks + options.threads).map { [faults] in
      Worker($0, isTask: $0 < options.tasks, scenario: name, faults)
    }
  }

  /// Runs a scenario until its time is over: at least once, and somewhat longer if nothing has raced yet.
  func run(_ scenario: some Scenario, seconds allowed: Double) async {
    Watchdog.shared.watch(workers.map(\.activityLog) + [director], scene: name)
    let started = Clock.now
    let limit = started + UInt64(allowed * 1e9)
    memory.add(at: 0, Memory.resident)
    if options.plotPath != nil { timeline = Timeline(of: options.seconds) }
    repeat {
      rounds.add()
      luck = Random(seed: options.seed, nameNumber, rounds.value, -2)
      for worker in workers { worker.reset(Random(seed: options.seed, nameNumber, rounds.value, worker.index)) }
      await scenario.round(self)
      for worker in workers { worker.reset(Random(seed: 0)) }
      director.begin(.verifier)
      let isClean = await eventually { Canary.alive == 0 && livingEvents == 0 }
      checks.expect(.g22, isClean, "still alive after the round: \(livingEvents) events \(Canary.description)")
      events = []
      checks.count(.g20, 1)
      seconds = Double(Clock.now - started) / 1e9
      memory.add(at: seconds, Memory.resident)
      timeline?.take(self, isLast: false)
    } while Clock.now < limit || (overlaps == 0 && seconds < allowed + 5)
    timeline?.take(self, isLast: true)
    Watchdog.shared.watch([], scene: "")
    if overlaps == 0 {
      checks.violate(.g20, "proved nothing: no two operations overlapped; give it more --seconds, --tasks or --threads")
    }
  }

  /// An event that has to be gone when the round is over.
  func watch(_ event: any AnyObject & Sendable) { events.append(WeakLook(object: event)) }

  private var livingEvents: Int { events.count { $0.object != nil } }

  /// A random number for a handler that is added while nobody races: see ``HandlerLog/fate``.
  func makeFate() -> UInt64 { luck.next() }

  /// Random numbers for the round itself.
  func random() -> Random { Random(seed: options.seed, nameNumber, rounds.value, -1) }

  private var nameNumber: Int { name.utf8.reduce(0) { $0 &* 31 &+ Int($1) } }

  // MARK: Racing

  /// Lets all workers start at once and do so many steps each, and returns when all are done.
  ///
  /// - Parameters:
  ///   - step: What a thread does, and a task too unless there is another step for tasks.
  ///   - inTask: What a task does: it may await.
  func race(
    steps: Int, _ step: @escaping @Sendable (Worker) -> Void, inTask: (@Sendable (Worker) async -> Void)? = nil
  ) async {
    let start = StartLine(workers.count)
    let threads = workers.filter { !$0.isTask }
    let done = Latch(threads.count)
    for worker in threads {
      RawThread.start(worker.activityLog.name) {
        start.wait()
        for _ in 0..<steps {
          step(worker)
          worker.rest()
        }
        done.arrive()
      }
    }
    await withDiscardingTaskGroup { group in
      for worker in workers where worker.isTask {
        group.addTask {
          await start.waitInTask()
          for number in 0..<steps {
            if let inTask { await inTask(worker) } else { step(worker) }
            if number % 16 == 15 { await worker.giveWayInTask() } else { await worker.restInTask() }
          }
        }
      }
    }
    await done.wait()
  }
}

/// Holds all back until all are there.
final class StartLine: Sendable {
  private let missing: Atomic<Int>

  init(_ number: Int) { missing = Atomic(number) }

  func wait() {
    missing.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    while missing.load(ordering: .acquiring) > 0 { RawThread.giveWay() }
  }

  func waitInTask() async {
    missing.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    while missing.load(ordering: .acquiring) > 0 { await Task.yield() }
  }
}
