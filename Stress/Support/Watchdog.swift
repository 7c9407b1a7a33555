import Foundation
import Synchronization

/// What somebody is doing, for the count of operations and for the watchdog.
enum Activity: UInt8, CaseIterable, Sendable {
  case idle, add, remove, lock, post, submit, send, look, quiesce, verifier, read
}

/// What one worker is doing now, and how much it has done. Written without order: only looked at.
final class ActivityLog: Sendable {
  let name: String
  private let activity = Atomic<UInt8>(0)
  private let steps = Atomic<Int>(0)

  init(_ name: String) { self.name = name }

  func begin(_ now: Activity) {
    activity.store(now.rawValue, ordering: .relaxed)
    move()
  }

  /// Something moved, whatever is being done.
  func move() { steps.store(steps.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  func end() { activity.store(0, ordering: .relaxed) }

  /// It waits for input, for as long as that takes.
  var isReading: Bool { activity.load(ordering: .relaxed) == Activity.read.rawValue }
  var count: Int { steps.load(ordering: .relaxed) }
  var description: String {
    "\(name): \(Activity(rawValue: activity.load(ordering: .relaxed)) ?? .idle), after \(count) operations"
  }
}

/// Ends a run that stands still: a thread of its own, which needs nothing that the run may have blocked.
// Safe: `activities` and `scene` are guarded by `lock`.
final class Watchdog: @unchecked Sendable {
  static let patience = 10.0
  static let shared = Watchdog()

  private let lock = NSLock()
  private var activities: [ActivityLog] = []
  private var scene = ""

  /// From now on these are watched.
  func watch(_ activities: [ActivityLog], scene: String) {
    lock.withLock {
      self.activities = activities
      self.scene = scene
    }
  }

  /// Starts to watch; `onStall` is given what everybody was doing.
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
        onStall("stalled: nothing has moved for \(Int(Watchdog.patience)) s in scenario \(scene)\n\(lines)")
        return
      }
    }
  }
}
