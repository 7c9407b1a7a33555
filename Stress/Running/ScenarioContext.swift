import Eventing
import EventingInspection
import Foundation
import Synchronization

/// The environment of a scenario: workers, time, seed, checks and figures.
// Safe: the task of one scenario at a time uses the context. The parts that workers share are
// thread-safe by themselves.
final class ScenarioContext: @unchecked Sendable {
  let options: Options
  let name: String
  let checks: Checks
  let faults: Faults
  let rounds = Counter()
  let director: ActivityLog
  private(set) var workers: [Worker] = []
  private(set) var memory = MemoryTrend()

  // Figures for the scenario's column in the table that a run prints at its end. `must`, `may` and
  // `did` are the numbers of deliveries that had to happen, could happen and did happen. `overlaps`
  // is the number of operations that began while an operation of another worker was running: see
  // ``countOverlaps()``.
  var must = 0
  var may = 0
  var did = 0
  var overlaps = 0
  /// The events of the current round, which must be deallocated after the round.
  private var events: [WeakLook] = []
  /// The trace of the current round; `nil` without `--trace`.
  private(set) var trace: EventTrace?
  /// The number of isolated calls that were made outside of workers.
  var looks = 0
  var lookLatency = Histogram()
  /// Further figures, which the report prints below the table.
  var remarks: [String: Int] = [:]

  private(set) var seconds = 0.0
  /// The samples for the plot. Nil without `--plot`.
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

  /// Runs a scenario until its time is over.
  ///
  /// Runs at least one round, and up to 5 s longer while no two operations have overlapped.
  func run(_ scenario: some Scenario, seconds allowed: Double) async {
    Watchdog.shared.watch(workers.map(\.activityLog) + [director], scene: name)
    let started = Clock.now
    let limit = started + UInt64(allowed * 1e9)
    memory.add(at: 0, Memory.resident)
    if options.plotPath != nil { timeline = Timeline(of: options.seconds) }
    repeat {
      rounds.add()
      if options.tracePath != nil { trace = EventTrace(of: [], lastMegabytes: 16) }
      luck = Random(seed: options.seed, nameNumber, rounds.value, -2)
      for worker in workers { worker.reset(Random(seed: options.seed, nameNumber, rounds.value, worker.index)) }
      await scenario.round(self)
      for worker in workers { worker.reset(Random(seed: 0)) }
      director.begin(.verify)
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
      checks.violate(.g20, "proved nothing: no two operations overlapped; increase --seconds, --tasks or --threads")
    }
  }

  /// Registers an event that must be deallocated when the round is over.
  func watch(_ event: any AnyObject & Sendable) {
    events.append(WeakLook(object: event))
    if let trace, let event = event as? any HandlerRegistry { trace.add(event) }
  }

  private var livingEvents: Int { events.count { $0.object != nil } }

  /// Returns a seed for the faults of a handler that the scenario itself, not a worker, adds. Call
  /// it only while no ``race(steps:_:inTask:)`` runs. See ``HandlerLog/fate``.
  func makeFate() -> UInt64 { luck.next() }

  /// Returns a generator for what the scenario chooses itself, outside of workers. All generators
  /// of one round give the same numbers.
  func random() -> Random { Random(seed: options.seed, nameNumber, rounds.value, -1) }

  private var nameNumber: Int { name.utf8.reduce(0) { $0 &* 31 &+ Int($1) } }
}
