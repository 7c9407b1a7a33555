import CoreMetrics
public import EventingTransport
import Foundation

extension EventMetrics {
  /// Records what a group of another process, or of this one, has not handled yet.
  ///
  ///     let monitor = BacklogMonitor(of: placed, in: "billing")
  ///     monitor.backlogs.addHandler { metrics.record($0, of: "orders.placed", in: "billing") }
  ///
  /// The dimensions are `subject` and `group`.
  ///
  /// | meter | |
  /// | --- | --- |
  /// | `eventing.backlog.waiting` | messages that no member has received |
  /// | `eventing.backlog.in_hand` | messages that members have received and not handled yet |
  /// | `eventing.backlog.redelivered` | messages among these that were delivered more than once |
  /// | `eventing.backlog.age` | seconds since the oldest of all was stored; 0 if there is none |
  ///
  /// - Parameters:
  ///   - backlog: The backlog.
  ///   - subject: The subject that the group listens to. Use few different ones.
  ///   - group: The group.
  public func record(_ backlog: Backlog, of subject: String, in group: String) {
    func set(_ name: String, _ value: Double) { meter(name, subject, group).set(value) }
    set("waiting", Double(backlog.waiting))
    set("in_hand", Double(backlog.inHand))
    set("redelivered", Double(backlog.redelivered))
    set("age", max(0, backlog.oldest.map { -$0.timeIntervalSinceNow } ?? 0))
  }
}
