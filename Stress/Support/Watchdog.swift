import Foundation
import Synchronization

/// The kind of operation that a worker performs, for the counts and for the watchdog.
enum Activity: UInt8, CaseIterable, Sendable {
  case idle, add, remove, lock, post, submit, send, look, quiesce, verify, read
}

/// The current activity of one worker, and the number of its steps. Other threads read both only as
/// a hint, so the memory order is relaxed.
final class ActivityLog: Sendable {
  let name: String
  private let activity = Atomic<UInt8>(0)
  private let steps = Atomic<Int>(0)

  init(_ name: String) { self.name = name }

  func begin(_ now: Activity) {
    activity.store(now.rawValue, ordering: .relaxed)
    move()
  }

  /// Counts a step of the worker's current operation, so that the watchdog sees progress. The
  /// worker's ``Activity`` stays as it is.
  func move() { steps.store(steps.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  func end() { activity.store(0, ordering: .relaxed) }

  /// Whether the worker waits for input, which may take any time.
  var isReading: Bool { activity.load(ordering: .relaxed) == Activity.read.rawValue }
  var count: Int { steps.load(ordering: .relaxed) }
  var description: String {
    "\(name): \(Activity(rawValue: activity.load(ordering: .relaxed)) ?? .idle), after \(count) operations"
  }
}

/// Ends a run that makes no progress. The watchdog has a thread of its own, and needs nothing that
/// the run may have blocked.
// Safe: `lock` guards `activities` and `scene`.
final class Watchdog: @unchecked Sendable {
  /// The time in seconds after which a run without progress counts as stalled.
  static let patience = 10.0
  static let shared = Watchdog()

  private let lock = NSLock()
  /// Guarded by: lock.
  private var activities: [ActivityLog] = []
  /// Guarded by: lock.
  private var scene = ""

  /// Watches these workers instead of the earlier ones.
  func watch(_ activities: [ActivityLog], scene: String) {
    lock.withLock {
      self.activities = activities
      self.scene = scene
    }
  }

  /// Starts to watch.
  ///
  /// - Parameter onStall: A closure that is called with the activities of all workers, if none has
  ///   made progress for ``patience`` seconds.
  func start(onStall: @escaping @Sendable (String) -> Void) {
    RawThread.start("watchdog") { [self] in
      var last = (sum: 0, scene: "")
      var since = Clock.now
      while true {
        Thread.sleep(forTimeInterval: 0.25)
        let (activities, scene) = lock.withLock { (self.activities, self.scene) }
        let now = (sum: activities.reduce(0) { $0 &+ $1.count }, scene: scene)
        if activities.isEmpty || now != last || activities.contains(where: \.isReading) { since = Clock.now }
        last = now
        guard Clock.now - since > UInt64(Watchdog.patience * 1e9) else { continue }
        let lines = activities.map { "  " + $0.description }.joined(separator: "\n")
        onStall("stalled: no progress for \(Int(Watchdog.patience)) s in scenario \(scene)\n\(lines)")
        return
      }
    }
  }
}
