public import Eventing

/// Reads the backlog of a group at an interval and reports when it grows for too long.
///
///     let monitor = BacklogMonitor(of: placed, in: "billing", every: .seconds(10), growingFor: .seconds(300))
///     monitor.backlogs.addHandler { metrics.record($0, of: "orders.placed", in: "billing") }
///     monitor.incidents.addHandler { incident in log("\(incident)") }
///
/// Any process may have a monitor, even one that isn't a member of the group. Releasing the monitor
/// ends it. An inspector of the process shows the last reading of each monitor.
public final class BacklogMonitor: Sendable {
  private let event = Event<Backlog>("backlogs")
  private let incidentEvent = Event<TransportIncident>("incidents")
  /// Of the ``BacklogTable``.
  private let row: UInt64
  private let task: any AnyObject & Sendable

  /// Creates a monitor for the group of a remote event.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - group: The group.
  ///   - interval: The pause between two readings.
  ///   - limit: How long the backlog may grow.
  ///   - clock: The clock that measures both durations.
  public convenience init<Payload>(
    of event: RemoteEvent<Payload>, in group: String, every interval: Duration = .seconds(10),
    growingFor limit: Duration = .seconds(300), clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.init(
      of: event.subject, in: group, over: event.channel.transport, every: interval, growingFor: limit, clock: clock)
  }

  /// Creates a monitor for a group that subscribes to a subject.
  ///
  /// - Parameters:
  ///   - subject: The subject. For a keyed event, it ends with `.*`.
  ///   - group: The group.
  ///   - transport: The stream.
  ///   - interval: The pause between two readings.
  ///   - limit: How long the backlog may grow.
  ///   - clock: The clock that measures both durations.
  public init(
    of subject: String, in group: String, over transport: any Transport, every interval: Duration = .seconds(10),
    growingFor limit: Duration = .seconds(300), clock: any Clock<Duration> = ContinuousClock()
  ) {
    row = BacklogTable.shared.add(BacklogTable.Reading(subject: subject, group: group))
    let (event, incidents, row) = (event, incidentEvent, row)
    task = Scheduling.cancelledWhenDropped {
      var growth = BacklogGrowth(limit, interval)
      var failure: String?
      while !Task.isCancelled {
        do {
          let backlog = try await transport.backlog(of: subject, in: group)
          failure = nil
          event.post(backlog)
          if let count = growth.note(backlog.waiting + backlog.inHand) {
            let reason =
              "expected the group \(group) to keep up; its backlog has grown beyond \(count) messages within \(limit): \(backlog)"
            incidents.post(TransportIncident(kind: .growingBacklog, subject: subject, event: subject, reason: reason))
          }
          let trouble = growth.isReported ? "grows for more than \(limit)" : ""
          BacklogTable.shared.show(backlog, trouble: trouble, as: row)
        } catch {
          // The same failure is reported only once.
          let reason = "expected to read the backlog of the group \(group): \(error)"
          if failure != reason, !Task.isCancelled {
            incidents.post(TransportIncident(kind: .refused, subject: subject, event: subject, reason: reason))
          }
          failure = reason
          BacklogTable.shared.show(nil, trouble: reason, as: row)
        }
        try? await Sleeping.sleep(for: max(interval, .milliseconds(1)), on: clock)
      }
    }
  }

  deinit { BacklogTable.shared.remove(row) }

  /// A source of all readings.
  public var backlogs: some EventSource<Backlog> { event.source }

  /// A source of incidents: ``TransportIncident/Kind/growingBacklog`` once per growth, and
  /// ``TransportIncident/Kind/refused`` when a reading fails.
  public var incidents: some EventSource<TransportIncident> { incidentEvent.source }
}

/// A backlog grows if each count of the second half of the limit is larger than all of the first
/// half. So a group that keeps up, but always has some messages in flight, doesn't count.
struct BacklogGrowth {
  private let most: Int
  private var counts: [Int] = []
  private(set) var isReported = false

  init(_ limit: Duration, _ interval: Duration) {
    most = max(4, Int(min(limit / max(interval, .milliseconds(1)), 10_000)) + 1)
  }

  /// Returns the largest count of the first half, once for each growth.
  mutating func note(_ count: Int) -> Int? {
    counts.append(count)
    if counts.count < most { return nil }
    defer { counts.removeFirst() }
    guard let before = counts.prefix(most / 2).max(), let after = counts.dropFirst(most / 2).min(), after > before
    else {
      isReported = false
      return nil
    }
    defer { isReported = true }
    return isReported ? nil : before
  }
}
